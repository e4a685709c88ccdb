//! The decision: what a container gets, and why.
//!
//! A pure function of the configuration, the pod and container that the runtime asks about, and what is staged.
//! It comes in two steps, [`select`] and [`adjust`], because between them the caller asks the staging gate, and
//! only for a container that would otherwise be adjusted.
//!
//! Everything that is missing makes a container with less, or unchanged, and never a refused one; the
//! ComputeDomain daemon is the one exception.

mod adjustment;
pub mod cdi;
mod compute_domain;
mod devices;
mod environment;
mod evidence;
mod gpu;
mod imex;
mod infiniband;
mod mounts;
mod outcome;
mod reads;
mod request;
mod runtime;
mod staged;
mod surfaces;
#[cfg(test)]
mod tests;
mod user_namespace;
mod volumes;
mod warning;

pub use adjustment::{Adjustment, BindMount, DeviceGrant, DeviceNode};
pub use cdi::CdiNode;
pub use evidence::Evidence;
pub use outcome::{Decision, Outcome, Reason, Refusal, Selection};
pub use reads::{reads_annotation, reads_label, reads_option, reads_variable};
pub use request::{Container, Device, DeviceRule, Mount, Pod};
pub use runtime::Runtime;
pub use staged::{Entry, Node, NodeKind, Staged};
pub use surfaces::{Gpu, Surfaces};
pub use warning::{SkipReason, Warning};

use crate::config::Config;
use crate::feature_gates::Gate;
use devices::Lookup;
use gpu::Delivery;

/// Whether the container is touched, and with what. Reads no disk. An absent pod or container is one that
/// says nothing.
pub fn select(config: &Config, pod: Option<&Pod>, container: Option<&Container>) -> Selection {
    let (no_pod, no_container) = (Pod::default(), Container::default());
    let (pod, container) = (pod.unwrap_or(&no_pod), container.unwrap_or(&no_container));
    let leave_alone = |reason| Selection::LeaveAlone {
        reason,
        warning: None,
    };

    if pod.annotation_says(&config.opt_out_annotation, "false") {
        return leave_alone(Reason::OptOut);
    }
    if config.excluded_namespaces.contains(&pod.namespace) {
        return leave_alone(Reason::ExcludedNamespace);
    }
    if compute_domain::is_daemon(pod, container) {
        return compute_domain::select(config, container);
    }
    let surfaces = Surfaces::of(config, pod, container);
    if surfaces.is_empty() {
        return leave_alone(Reason::NothingSelected);
    }
    if container.mounts_at(&config.overlay_mount_path) {
        return leave_alone(Reason::OverlayAlreadyMounted);
    }
    if surfaces.need_overlay()
        && let Some(volume) = volumes::shared_above(config, container)
    {
        return Selection::LeaveAlone {
            reason: Reason::OverlayWouldPropagate,
            warning: Some(Warning::OverlayWouldPropagate {
                path: volume.destination.clone(),
            }),
        };
    }
    if volumes::mounted_by_another_copy(config, container) {
        return leave_alone(Reason::OverlayAlreadyMounted);
    }
    Selection::Inject(surfaces)
}

/// What a selected container gets, from what is staged now. `container` is the one that was selected.
pub fn adjust(
    config: &Config,
    selection: &Selection,
    container: Option<&Container>,
    staged: &impl Staged,
    runtime: Runtime,
) -> Decision {
    let no_container = Container::default();
    let container = container.unwrap_or(&no_container);
    let mut warnings = Vec::new();
    let mut outcome = match selection {
        Selection::LeaveAlone { reason, warning } => {
            warnings.extend(warning.clone());
            Outcome::Unmodified(*reason)
        }
        Selection::Daemon => compute_domain::adjust(config, container, staged),
        Selection::Inject(surfaces) => {
            inject(config, *surfaces, container, staged, runtime, &mut warnings)
        }
    };
    if let Outcome::Adjusted(adjustment) = &mut outcome {
        let names = adjustment.drop_repeated();
        if !names.is_empty() {
            warnings.push(Warning::RepeatedInAdjustment { names });
        }
    }
    Decision { outcome, warnings }
}

/// Mounts, environment and devices, in this order.
fn inject(
    config: &Config,
    surfaces: Surfaces,
    container: &Container,
    staged: &impl Staged,
    runtime: Runtime,
    warnings: &mut Vec<Warning>,
) -> Outcome {
    let mut adjustment = Adjustment::default();

    if surfaces.need_overlay() {
        let not_staged = mounts::not_staged(config, staged);
        if not_staged.is_some() && config.feature_gates.enabled(Gate::RequireStagedOverlay) {
            return Outcome::Unmodified(Reason::OverlayNotStaged);
        }
        if let Some(volume) = volumes::without_a_place(config, container, staged) {
            let path = volume.destination.clone();
            warnings.push(Warning::VolumeBelowOverlay { path });
            return Outcome::Unmodified(Reason::VolumeBelowOverlay);
        }
        let own_config = mounts::own_config(config, container);
        if let Some(source) = not_staged.filter(|_| !own_config) {
            let path = source.to_string();
            warnings.push(Warning::OverlayNotStaged { path });
        }
        if container.user_namespace && !own_config {
            warnings.push(Warning::ConfigNotWritable);
        }
        adjustment.mounts = mounts::overlay(config, own_config);

        let environment = environment::overlay(config, surfaces, staged, &container.env, runtime);
        adjustment.env = environment.changed;
        if !environment.repeated.is_empty() {
            let keys = environment.repeated;
            warnings.push(Warning::RepeatedEnv { keys });
        }
    }

    let guard = config.feature_gates.enabled(Gate::RealDriverGuard);
    let mut lookup = Lookup::new(staged, guard);
    let mut nodes = Vec::new();
    let mut present = false;
    if surfaces.gpu == Some(Gpu::Management) {
        match gpu::delivery(config, container, staged, runtime, &lookup, warnings) {
            Delivery::Cdi(name) => adjustment.cdi_devices.push(name),
            Delivery::Nodes(candidates) => nodes.extend(lookup.nodes(candidates)),
        }
    }
    if surfaces.infiniband {
        warnings.extend(infiniband::no_hca(config, staged));
    }
    if surfaces.imex {
        let channels = lookup.nodes(imex::channels(config, staged, warnings));
        let staged_channels = channels.len();
        let missing = imex::missing(channels, container);
        present = missing.len() < staged_channels;
        nodes.extend(missing);
    }
    if (surfaces.gpu.is_some() || surfaces.imex) && volumes::replace_dev(container) {
        warnings.push(Warning::OwnDev);
    }
    if container.user_namespace {
        present |= user_namespace::bind(nodes, container, runtime, &mut adjustment);
    } else {
        adjustment.devices = nodes.into_iter().map(|found| found.node).collect();
    }
    warnings.extend(lookup.into_warnings());

    match adjustment.is_empty() {
        false => Outcome::Adjusted(adjustment),
        true if present => Outcome::Unmodified(Reason::AlreadyAdjusted),
        true => Outcome::Unmodified(Reason::NothingToAdd),
    }
}
