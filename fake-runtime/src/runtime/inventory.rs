//! What is on the node.

use nri_proto::api::{Container, PodSandbox};

/// What is there when a plugin registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Inventory {
    pub(super) pods: Vec<PodSandbox>,
    pub(super) containers: Vec<Container>,
}
