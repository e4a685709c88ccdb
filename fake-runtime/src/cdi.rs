//! CDI: device names, and the container edits that stand behind them.
//!
//! As much of CDI as containerd's NRI path uses. The crate `container-device-interface` is not used: it
//! looks at the device nodes of the machine it runs on, while here the host's facts are given, and it
//! applies edits as one version of CDI does, while here the [profile](crate::profile) says how. A CDI
//! spec's `intelRdt` and `netDevices` are read over: nothing recorded shows what becomes of them.

mod registry;

pub use registry::{Problem, Registry};
use serde::Deserialize;

/// A CDI spec file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CdiSpec {
    /// The kind of its devices: `vendor/class`.
    pub kind: String,
    /// The devices.
    pub devices: Vec<CdiDevice>,
    /// What every container gets that gets one of them.
    #[serde(default)]
    pub container_edits: ContainerEdits,
}

/// A device of a CDI spec.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CdiDevice {
    /// Its name within the kind.
    pub name: String,
    /// What a container gets with it.
    #[serde(default)]
    pub container_edits: ContainerEdits,
}

/// Changes to a container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerEdits {
    /// `KEY=value`.
    pub env: Vec<String>,
    /// Device nodes.
    pub device_nodes: Vec<DeviceNode>,
    /// Mounts.
    pub mounts: Vec<CdiMount>,
    /// Hooks.
    pub hooks: Vec<CdiHook>,
    /// Groups for the process; 0 is skipped.
    #[serde(rename = "additionalGids")]
    pub additional_gids: Vec<u32>,
}

/// A device node of container edits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceNode {
    /// Where it is in the container.
    pub path: String,
    /// Where it is on the host; empty is the same path.
    pub host_path: String,
    /// `c`, `b`, `u` or `p`; empty is the host's.
    #[serde(rename = "type")]
    pub kind: String,
    /// Major number; 0 is the host's, and then the minor is too.
    pub major: i64,
    /// Minor number.
    pub minor: i64,
    /// Mode bits.
    pub file_mode: Option<u32>,
    /// Of `r`, `w` and `m`; empty is all.
    pub permissions: String,
    /// Owner; none is the container's user.
    pub uid: Option<u32>,
    /// Group; none is that of the container's user.
    pub gid: Option<u32>,
}

/// A mount of container edits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CdiMount {
    /// The source.
    pub host_path: String,
    /// The destination.
    pub container_path: String,
    /// Type of the file system.
    #[serde(rename = "type")]
    pub kind: String,
    /// Mount options.
    pub options: Vec<String>,
}

/// A hook of container edits.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CdiHook {
    /// When: `createContainer`.
    pub hook_name: String,
    /// What to run.
    pub path: String,
    /// The command line.
    pub args: Vec<String>,
    /// Its environment.
    pub env: Vec<String>,
    /// In seconds.
    pub timeout: Option<i64>,
}

impl DeviceNode {
    /// Where the node is on the host.
    pub fn path_on_host(&self) -> &str {
        if self.host_path.is_empty() {
            &self.path
        } else {
            &self.host_path
        }
    }
}

impl ContainerEdits {
    fn append(&mut self, other: &Self) {
        self.env.extend_from_slice(&other.env);
        self.device_nodes.extend_from_slice(&other.device_nodes);
        self.mounts.extend_from_slice(&other.mounts);
        self.hooks.extend_from_slice(&other.hooks);
        self.additional_gids
            .extend_from_slice(&other.additional_gids);
    }
}
