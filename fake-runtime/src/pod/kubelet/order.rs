//! Which container comes when.

use crate::pod::manifest::{Container, Pod};

/// The order in which the kubelet makes a Pod's containers: the init containers, sidecars among them, then the
/// others, and at last those that were added while it ran.
pub(super) fn in_order(pod: &Pod) -> impl Iterator<Item = &Container> {
    let spec = &pod.spec;
    spec.init_containers
        .iter()
        .chain(&spec.containers)
        .chain(&spec.ephemeral_containers)
}
