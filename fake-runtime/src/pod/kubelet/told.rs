//! What a kubelet is told.

use super::allocation::Allocation;
use crate::pod::cluster::Cluster;
use crate::pod::node::Node;
use crate::profile::Profile;

/// Where a Pod came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// The API server.
    #[default]
    Api,
    /// A file in the kubelet's own directory.
    File,
}

/// A kubelet: its node, and what it is told by others.
#[derive(Clone, Copy, Debug)]
pub struct Kubelet<'a> {
    /// The node.
    pub node: &'a Node,
    /// The runtime that it asks.
    pub profile: &'a Profile,
    /// The cluster's objects.
    pub cluster: &'a Cluster,
    /// What device plugins and DRA drivers give.
    pub allocation: &'a Allocation,
    /// Where Pods come from.
    pub source: Source,
    /// Puts variables in random order, as real ones do; without it they are in the manifest's.
    pub shuffle: Option<u64>,
}
