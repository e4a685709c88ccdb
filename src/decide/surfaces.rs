//! Which of GPU, InfiniBand and IMEX channels a container is given.

use std::fmt;

use super::evidence::Evidence;
use super::request::{Container, Pod};
use crate::config::Config;

/// The surfaces that a container is given. None brings another along.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// Mock GPUs.
    pub gpu: Option<Gpu>,
    /// The mock InfiniBand tools.
    pub infiniband: bool,
    /// The mock IMEX channels.
    pub imex: bool,
}

/// Why a container is given mock GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gpu {
    /// The scheduler gave it some, and it keeps exactly those.
    Allocated,
    /// The pod asks for all of them with the devices annotation.
    Management,
}

impl Surfaces {
    /// Reads the annotations and the evidence of an allocation.
    pub fn of(config: &Config, pod: &Pod, container: &Container) -> Self {
        let asks_for = |annotation: &str| pod.annotation_says(annotation, "true");
        let gpu = if Evidence::of(container).is_some() {
            Some(Gpu::Allocated)
        } else if asks_for(&config.device_annotation) {
            Some(Gpu::Management)
        } else {
            None
        };
        Self {
            gpu,
            infiniband: asks_for(&config.infiniband_annotation),
            imex: asks_for(&config.imex_channel_annotation),
        }
    }

    /// Whether nothing is given.
    pub fn is_empty(self) -> bool {
        self.names().next().is_none()
    }

    /// Whether the overlay is mounted, which IMEX channels alone do not need.
    pub fn need_overlay(self) -> bool {
        self.gpu.is_some() || self.infiniband
    }

    /// The selected ones by name: `gpu`, `infiniband`, `imex`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [
            self.gpu.map(|_| "gpu"),
            self.infiniband.then_some("infiniband"),
            self.imex.then_some("imex"),
        ]
        .into_iter()
        .flatten()
    }
}

impl fmt::Display for Surfaces {
    /// What selected them, as in `GPU allocation, infiniband annotation`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gpu = self.gpu.map(|gpu| match gpu {
            Gpu::Allocated => "GPU allocation",
            Gpu::Management => "devices annotation",
        });
        let causes = [
            gpu,
            self.infiniband.then_some("infiniband annotation"),
            self.imex.then_some("imex-channels annotation"),
        ];
        let mut separator = "";
        for cause in causes.into_iter().flatten() {
            write!(formatter, "{separator}{cause}")?;
            separator = ", ";
        }
        Ok(())
    }
}
