//! The node that Pods run on.

mod devices;
mod file;

use std::collections::BTreeMap;

pub use devices::host_of_gpus;
pub(super) use devices::{gpu, gpu_control};
pub use file::NodeError;

use super::cri::Device;
use super::image::Images;
use super::quantity::Quantity;
use crate::host::Host;

/// A machine with a kubelet and a containerd on it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, and its host name.
    pub name: String,
    /// Its memory in bytes, by which the kubelet scores who is killed first when it runs out.
    pub memory: i64,
    /// What Pods may have of it, by resource.
    pub allocatable: BTreeMap<String, Quantity>,
    /// Its address, where it is known.
    pub address: Option<String>,
    /// The address at which containers find the API server.
    pub api_server: String,
    /// The domain of the cluster's Services.
    pub cluster_domain: String,
    /// Who makes cgroups.
    pub cgroup_driver: CgroupDriver,
    /// The cgroup that holds those of all Pods; `/` is the node's own.
    pub cgroup_root: String,
    /// What its runtime can do, where that is not as usual for its version.
    pub features: Features,
    /// Whether the GPUs that it gives come with the device nodes that all of them share.
    pub gpu_control_nodes: bool,
    /// The image of the container that holds a pod's namespaces.
    pub pause_image: String,
    /// The process id of that container, the same for every pod.
    pub sandbox_pid: u32,
    /// What a privileged container sees.
    pub devices: Vec<Device>,
    /// The images that it has.
    pub images: Images,
    /// Where paths of it lead that are links.
    pub links: BTreeMap<String, String>,
    /// The least score by which containerd lets the kernel kill a container, where that is limited to its own.
    pub least_oom_score: Option<i64>,
    /// Its CDI specs. Where they are not known, every device is taken for a GPU.
    pub cdi: Option<Host>,
}

/// Who makes cgroups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CgroupDriver {
    /// systemd, as slices.
    #[default]
    Systemd,
    /// The kubelet itself, as directories.
    Cgroupfs,
}

/// What a runtime can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Mounts that are read-only with all that is mounted below.
    pub recursive_read_only: Option<bool>,
    /// Pods with users of their own.
    pub user_namespaces: Option<bool>,
    /// Groups as the Pod says, and not also as the image does.
    pub supplemental_groups_policy: Option<bool>,
    /// Devices by their CDI names; otherwise they are left out.
    pub cdi: Option<bool>,
}

impl Node {
    /// A node with that many GPUs, whose device nodes a privileged container inherits.
    #[must_use]
    pub fn new(name: impl Into<String>, gpus: u32) -> Self {
        let memory = 64 << 30;
        let allocatable = [
            ("cpu", 16),
            ("memory", memory),
            ("ephemeral-storage", 256 << 30),
        ];
        let allocatable = allocatable.map(|(name, units)| (name.into(), Quantity::of_units(units)));
        Self {
            name: name.into(),
            memory,
            allocatable: allocatable.into(),
            address: None,
            api_server: "10.96.0.1".to_owned(),
            cluster_domain: "cluster.local".to_owned(),
            cgroup_driver: CgroupDriver::default(),
            cgroup_root: "/".to_owned(),
            features: Features::default(),
            gpu_control_nodes: true,
            pause_image: "registry.k8s.io/pause:3.10".to_owned(),
            sandbox_pid: 4242,
            devices: devices::usual(gpus),
            images: Images::default(),
            links: BTreeMap::new(),
            least_oom_score: None,
            cdi: None,
        }
    }
}
