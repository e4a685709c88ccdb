//! The decision, in order.

use std::collections::BTreeSet;

use nri_proto::api::{Container, ContainerAdjustment, LinuxContainerAdjustment, PodSandbox};

use crate::clean::clean;
use crate::settings::Settings;
use crate::{Answer, Gate, Outcome, Warning, World};
use crate::{allocation, compute_domain, devices, environment, mounts};

/// What a container is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surfaces {
    /// A GPU that the scheduler gave it.
    pub allocated: bool,
    /// Every GPU, since its pod asks for them and nothing was allocated.
    pub management: bool,
    /// InfiniBand.
    pub infiniband: bool,
    /// IMEX channels.
    pub imex: bool,
}

impl Surfaces {
    /// The GPU surface, either way.
    pub fn gpu(self) -> bool {
        self.allocated || self.management
    }

    /// The surfaces that bring mounts and environment.
    pub fn overlay(self) -> bool {
        self.gpu() || self.infiniband
    }
}

/// Rules 1 to 7.
pub fn decide(
    settings: &Settings,
    world: &World,
    pod: Option<&PodSandbox>,
    container: Option<&Container>,
) -> Outcome {
    let annotation = |key: &str| pod.and_then(|pod| pod.annotations.get(key));
    let says = |key: &str, word: &str| {
        annotation(key).is_some_and(|value| value.eq_ignore_ascii_case(word))
    };

    // 1.
    if says(&settings.opt_out_annotation, "false") {
        return left_alone("opt-out annotation");
    }

    // 2.
    if pod.is_some_and(|pod| settings.excluded_namespaces.contains(&pod.namespace)) {
        return left_alone("excluded namespace");
    }

    // 3.
    if compute_domain::is_daemon(pod, container) {
        return compute_domain::decide(settings, world, container);
    }

    // 4.
    let allocated = allocation::is_allocated(container);
    let surfaces = Surfaces {
        allocated,
        management: says(&settings.device_annotation, "true") && !allocated,
        infiniband: says(&settings.infiniband_annotation, "true"),
        imex: says(&settings.imex_annotation, "true"),
    };

    // 5.
    if !surfaces.overlay() && !surfaces.imex {
        return left_alone("no GPU allocation and no opt-in annotation");
    }

    // 6.
    let mounted = container.iter().flat_map(|container| &container.mounts);
    if mounted
        .into_iter()
        .any(|mount| clean(&mount.destination) == settings.overlay_mount)
    {
        return left_alone("overlay already mounted");
    }

    // The staging gate, for a container that would otherwise be adjusted.
    if settings.asks_staging_gate && world.gate == Gate::Closed {
        return Outcome {
            answer: Answer::Gated,
            warnings: BTreeSet::from([Warning::GateClosed]),
        };
    }

    // 7.
    adjust(settings, world, surfaces, container)
}

fn adjust(
    settings: &Settings,
    world: &World,
    surfaces: Surfaces,
    container: Option<&Container>,
) -> Outcome {
    let mut warnings = BTreeSet::new();
    let mut adjustment = ContainerAdjustment::default();
    if surfaces.overlay() {
        let staged = world.tree.is_directory(&settings.overlay_host)
            && world.tree.is_directory(&mounts::config_directory(settings));
        if !staged && settings.gates.require_staged_overlay {
            return left_alone("overlay not staged");
        }
        if !staged {
            warnings.insert(Warning::OverlayNotStaged);
        }
        adjustment.mounts = mounts::overlay(settings);
        adjustment.env = environment::changed(settings, world, surfaces, container, &mut warnings);
    }
    let mut nodes = Vec::new();
    if surfaces.management {
        let (cdi_devices, gpu_nodes) = devices::gpus(settings, world, &mut warnings);
        adjustment.cdi_devices = cdi_devices;
        nodes.extend(gpu_nodes);
    }
    if surfaces.infiniband {
        let hcas = world.tree.list(&crate::clean::join(
            &settings.overlay_host,
            "ib/sys/class/infiniband",
        ));
        if hcas.is_none_or(|hcas| hcas.is_empty()) {
            warnings.insert(Warning::NoHca);
        }
    }
    if surfaces.imex {
        nodes.extend(devices::imex_channels(
            settings,
            world,
            container,
            &mut warnings,
        ));
    }
    if !nodes.is_empty() {
        adjustment.linux = Some(LinuxContainerAdjustment {
            devices: nodes,
            ..Default::default()
        });
    }
    // An adjustment with nothing in it is the same as none.
    let answer = if adjustment == ContainerAdjustment::default() {
        Answer::LeftAlone(None)
    } else {
        Answer::Adjusted(Box::new(adjustment))
    };
    Outcome { answer, warnings }
}

/// The container stays as it is, for a reason that the description names.
pub fn left_alone(reason: &'static str) -> Outcome {
    Outcome {
        answer: Answer::LeftAlone(Some(reason)),
        warnings: BTreeSet::new(),
    }
}
