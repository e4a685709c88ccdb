//! Where containerd keeps things on the node.

/// What outlives a reboot.
pub(super) const STATE: &str = "/var/lib/containerd/io.containerd.grpc.v1.cri";
/// What does not.
pub(super) const RUN: &str = "/run/containerd/io.containerd.grpc.v1.cri";
