//! The decision, in order.

use std::collections::BTreeSet;

use nri_proto::api::{
    Container, ContainerAdjustment, LinuxContainerAdjustment, LinuxResources, PodSandbox,
};

use crate::clean::clean;
use crate::settings::Settings;
use crate::{Answer, Gate, Outcome, Warning, World};
use crate::{allocation, compute_domain, devices, environment, mounts, user_namespace, volumes};

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

    // Deliberate choices 13 and 15, as far as they need no look at the disk.
    if surfaces.overlay() && volumes::would_propagate(settings, container) {
        let warning = Warning::OverlayWouldPropagate;
        return left_alone_and_warn("overlay would propagate to the node", warning);
    }
    if volumes::another_copy_was_here(settings, container) {
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
        if volumes::is_below_without_a_place(settings, world, container) {
            return left_alone_and_warn("volume below the overlay", Warning::VolumeBelowOverlay);
        }
        adjustment.mounts.push(mounts::overlay(settings));
        if !volumes::has_own_config(settings, container) {
            adjustment.mounts.push(mounts::config(settings));
            if !staged {
                warnings.insert(Warning::OverlayNotStaged);
            }
            if user_namespace::has(container) {
                warnings.insert(Warning::ConfigNotWritable);
            }
        }
        adjustment.env = environment::changed(settings, world, surfaces, container, &mut warnings);
    }
    let mut nodes = Vec::new();
    if surfaces.management {
        let (cdi_devices, gpu_nodes) = devices::gpus(settings, world, container, &mut warnings);
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
    if (surfaces.gpu() || surfaces.imex) && volumes::has_own_dev(container) {
        warnings.insert(Warning::OwnDev);
    }
    let mut linux = LinuxContainerAdjustment::default();
    if user_namespace::has(container) {
        let (mounts, rules) = user_namespace::mounts_and_rules(world, container, &nodes);
        adjustment.mounts.extend(mounts);
        if !rules.is_empty() {
            linux.resources = Some(LinuxResources {
                devices: rules,
                ..Default::default()
            });
        }
    } else {
        linux.devices = nodes.into_iter().map(|handed| handed.device).collect();
    }
    if linux != LinuxContainerAdjustment::default() {
        adjustment.linux = Some(linux);
    }
    // The runtime would refuse the container.
    let mut seen = BTreeSet::new();
    let mounts = adjustment.mounts.len();
    adjustment
        .mounts
        .retain(|mount| seen.insert(mount.destination.clone()));
    if adjustment.mounts.len() < mounts {
        warnings.insert(Warning::Repeated);
    }
    // An adjustment with nothing in it is the same as none.
    let answer = if adjustment == ContainerAdjustment::default() {
        Answer::LeftAlone(None)
    } else {
        Answer::Adjusted(Box::new(adjustment))
    };
    Outcome { answer, warnings }
}

fn left_alone_and_warn(reason: &'static str, warning: Warning) -> Outcome {
    Outcome {
        warnings: BTreeSet::from([warning]),
        ..left_alone(reason)
    }
}

/// The container stays as it is, for a reason that the description names.
pub fn left_alone(reason: &'static str) -> Outcome {
    Outcome {
        answer: Answer::LeftAlone(Some(reason)),
        warnings: BTreeSet::new(),
    }
}
