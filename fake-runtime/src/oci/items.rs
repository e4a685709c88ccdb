//! The parts of a spec for which the crate `oci-spec` is too narrow.

use serde::{Deserialize, Serialize};

/// A device node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Device {
    /// Where it is in the container.
    pub path: String,
    /// `c`, `b`, `u`, `p`, or what a plugin made up.
    #[serde(rename = "type")]
    pub kind: String,
    /// Major number.
    #[serde(default)]
    pub major: i64,
    /// Minor number.
    #[serde(default)]
    pub minor: i64,
    /// Mode bits; runc makes 0666 of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_mode: Option<u32>,
    /// Owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<u32>,
}

/// A rule of the device control group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRule {
    /// Allow, or deny.
    #[serde(default)]
    pub allow: bool,
    /// `c`, `b`, or empty for both.
    #[serde(default, rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Major number; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major: Option<i64>,
    /// Minor number; none is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor: Option<i64>,
    /// Of `r`, `w` and `m`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub access: String,
}

/// A resource limit of the process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimit {
    /// `RLIMIT_NOFILE` and the like, or what a plugin made up.
    #[serde(rename = "type")]
    pub kind: String,
    /// The most to which the process may raise it.
    pub hard: u64,
    /// Where it starts.
    pub soft: u64,
}

/// The process's I/O priority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IoPriority {
    /// `IOPRIO_CLASS_RT` and the like.
    pub class: String,
    /// Within the class: 0 is the highest.
    #[serde(default)]
    pub priority: i64,
}

/// The process's CPU scheduler. Zero values are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scheduler {
    /// `SCHED_FIFO` and the like.
    pub policy: String,
    /// Nice value.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nice: i32,
    /// Static priority.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// `SCHED_FLAG_RESET_ON_FORK` and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Of SCHED_DEADLINE, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub runtime: u64,
    /// Of SCHED_DEADLINE, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub deadline: u64,
    /// Of SCHED_DEADLINE, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub period: u64,
}

/// The process's NUMA memory policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPolicy {
    /// `MPOL_BIND` and the like.
    pub mode: String,
    /// A list of nodes: `0-1`.
    #[serde(default)]
    pub nodes: String,
    /// `MPOL_F_STATIC_NODES` and the like.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
}

/// The limit on the number of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pids {
    /// None leaves runc's default, which is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// A network interface moved into the container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetDevice {
    /// What it is called there; empty keeps its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
