//! What a kubelet asks of a runtime over CRI, as far as NRI shows it.
//!
//! Between a manifest and the runtime's requests: [`kubelet`](super::kubelet) makes these of the one,
//! [`containerd`](super::containerd) makes the other of these. The recordings were made at this level, so that
//! this is where they pin what containerd does.

use std::collections::BTreeMap;

use nri_proto::api::LinuxDevice;
use serde::Serialize;

use super::manifest::{Propagation, SeccompProfile};

/// A pod that is to be made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sandbox {
    /// The Pod's name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Its uid.
    pub uid: String,
    /// The host name inside. Empty is the node's.
    pub hostname: String,
    /// Where its containers' logs go.
    pub log_directory: String,
    /// Labels, the kubelet's own among them.
    pub labels: BTreeMap<String, String>,
    /// Annotations, the kubelet's own among them.
    pub annotations: BTreeMap<String, String>,
    /// The cgroup that holds it. Empty leaves that to the runtime.
    pub cgroup_parent: String,
    /// The RuntimeClass's handler. Empty is the default.
    pub runtime_handler: String,
    /// Which namespaces it has.
    pub namespaces: Namespaces,
    /// What its containers need together, where the kubelet says.
    pub resources: Option<Resources>,
    /// What it needs besides them.
    pub overhead: Option<Resources>,
}

/// Which namespaces a pod has of its own.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Namespaces {
    /// The network is the node's.
    pub host_network: bool,
    /// IPC is the node's.
    pub host_ipc: bool,
    /// Users are its own, and not the node's.
    pub own_users: bool,
    /// Whose process ids its containers see.
    pub pid: PidNamespace,
}

/// Whose process ids the containers of a pod see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum PidNamespace {
    /// Each its own.
    #[default]
    Container,
    /// All the same.
    Pod,
    /// The node's.
    Node,
}

/// A container that is to be made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Container {
    /// The name, unique within the pod.
    pub name: String,
    /// The image's reference.
    pub image: String,
    /// What it runs, in place of the image's ENTRYPOINT and CMD.
    pub command: Vec<String>,
    /// The arguments of that or of the image's ENTRYPOINT, in place of its CMD.
    pub args: Vec<String>,
    /// Variables, in order.
    pub env: Vec<(String, String)>,
    /// Mounts, in order.
    pub mounts: Vec<Mount>,
    /// Devices of the node.
    pub devices: Vec<Device>,
    /// Devices by their CDI names.
    pub cdi_devices: Vec<String>,
    /// Labels, the kubelet's own among them.
    pub labels: BTreeMap<String, String>,
    /// Annotations, the kubelet's own among them.
    pub annotations: BTreeMap<String, String>,
    /// Sees the processes of this container of its pod, and of no other.
    pub sees_processes_of: Option<String>,
    /// Has the node's devices.
    pub privileged: bool,
    /// Has a terminal.
    pub tty: bool,
    /// Its root file system cannot be written to.
    pub readonly_root: bool,
    /// Whom it runs as.
    pub user: User,
    /// Which system calls it may make, where the kubelet says.
    pub seccomp: Option<SeccompProfile>,
    /// What it may use.
    pub resources: Resources,
}

/// A mount that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mount {
    /// Where it goes.
    pub container_path: String,
    /// What is mounted.
    pub host_path: String,
    /// Cannot be written to.
    pub readonly: bool,
    /// Nor can what is mounted below it.
    pub recursive_read_only: bool,
    /// The image whose files it is; empty where it is a path of the node.
    pub image: String,
    /// Whether mounts made below it show on the other side.
    pub propagation: Propagation,
}

/// A device that is to be handed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Device {
    /// Where it is, on the node as in the container.
    pub path: String,
    /// `c` or `b`.
    pub kind: String,
    /// Major number.
    pub major: i64,
    /// Minor number.
    pub minor: i64,
    /// Mode bits of the node.
    pub mode: u32,
    /// Owner of the node.
    pub uid: u32,
    /// Group of the node.
    pub gid: u32,
    /// Of `r`, `w` and `m`.
    pub permissions: String,
}

impl Device {
    /// What a privileged container, which has all devices of its node, shows of one of them.
    #[must_use]
    pub fn of_the_node(device: &LinuxDevice) -> Self {
        Self {
            path: device.path.clone(),
            kind: device.r#type.clone(),
            major: device.major,
            minor: device.minor,
            mode: device.file_mode.as_ref().map_or(0, |mode| mode.value),
            uid: device.uid.as_ref().map_or(0, |uid| uid.value),
            gid: device.gid.as_ref().map_or(0, |gid| gid.value),
            permissions: "rwm".to_owned(),
        }
    }
}

/// Whom a container's process runs as.
#[derive(Clone, Debug, Default, Serialize)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// The user's group.
    pub gid: u32,
    /// Further groups.
    pub groups: Vec<u32>,
}

/// What a container or a pod may use. 0 and empty leave a limit alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// CPU time beside others'.
    pub cpu_shares: u64,
    /// CPU time in microseconds a period.
    pub cpu_quota: i64,
    /// The period, in microseconds.
    pub cpu_period: u64,
    /// CPUs, as a list.
    pub cpus: String,
    /// Memory nodes, as a list.
    pub mems: String,
    /// Memory, in bytes; with swap it is no more.
    pub memory_limit: i64,
    /// How gladly the kernel kills it, where the kubelet says.
    pub oom_score_adj: Option<i64>,
}
