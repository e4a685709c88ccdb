//! A container's OCI runtime spec, as a runtime writes it before runc reads it.
//!
//! The leaves are the types of the crate `oci-spec` wherever those can hold what containerd writes.
//! Where they cannot, there is a type of our own here, with the same field names:
//!
//! - the crate's enums are closed, while containerd passes on whatever a plugin says and leaves it to
//!   runc to refuse it at start: a device of type `x`, an unknown rlimit, a seccomp action of `""`;
//! - capabilities are a hash set in it, and lose their order;
//! - a pids limit cannot be absent, and an absent name of a net device comes out as `null`;
//! - a scheduler's flags have other names in it than in the specification.
//!
//! So [`Spec`] holds what an adjustment can touch, and everything else as it came. [`Spec::typed`] and
//! `TryFrom` lead to the crate's own `Spec` and back.

mod items;

use std::collections::{BTreeMap, HashSet};

pub use items::{Device, DeviceRule, IoPriority, MemoryPolicy, NetDevice, Pids, Rlimit, Scheduler};
pub use oci_spec::runtime::{
    Hook, LinuxCpu, LinuxHugepageLimit, LinuxIntelRdt, LinuxMemory, LinuxNamespace, Mount, User,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The spec. Lists and maps that are empty are not written, as in containerd.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What to run.
    pub process: Process,
    /// In the order in which they are mounted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mounts: Vec<Mount>,
    /// By the hook's name: `createRuntime`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<String, Vec<Hook>>,
    /// Annotations of the container.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// What only Linux has.
    pub linux: Linux,
    /// What no adjustment touches.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// `process`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Process {
    /// User and groups.
    pub user: User,
    /// The command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// `KEY=value`; inside the container the last of a key wins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// Resource limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rlimits: Vec<Rlimit>,
    /// Between -1000 and 1000, unless a plugin said otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oom_score_adj: Option<i64>,
    /// I/O priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<IoPriority>,
    /// CPU scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// What no adjustment touches.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// `linux`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Linux {
    /// Device nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    /// Limits of the control group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,
    /// Where the control group is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cgroups_path: String,
    /// Namespaces to make or to join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<LinuxNamespace>,
    /// Replaced whole by an adjustment and never looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seccomp: Option<Value>,
    /// Propagation of mounts at the container's root.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rootfs_propagation: String,
    /// Kernel parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, String>,
    /// Network interfaces moved in, by their name on the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub net_devices: BTreeMap<String, NetDevice>,
    /// Intel RDT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intel_rdt: Option<LinuxIntelRdt>,
    /// NUMA memory policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_policy: Option<MemoryPolicy>,
    /// What no adjustment touches.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// `linux.resources`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Device rules: the later ones win.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceRule>,
    /// Memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<LinuxMemory>,
    /// CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<LinuxCpu>,
    /// Number of processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids: Option<Pids>,
    /// Huge pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hugepage_limits: Vec<LinuxHugepageLimit>,
    /// Files of the unified hierarchy (cgroup v2) and what to write there.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unified: BTreeMap<String, String>,
    /// What no adjustment touches.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Process {
    /// The environment that the process finds, but for what runc adds (`HOME`): of a variable that stands
    /// twice only the last entry is left.
    pub fn environ(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let mut environ: Vec<_> = self
            .env
            .iter()
            .rev()
            .map(String::as_str)
            .filter(|entry| seen.insert(entry.split('=').next()))
            .collect();
        environ.reverse();
        environ
    }
}

/// A spec that one of the two models of it cannot hold.
#[derive(Debug, thiserror::Error)]
#[error("the OCI spec does not fit: {0}")]
pub struct Misfit(#[from] serde_json::Error);

impl Spec {
    /// The spec in the types of the crate `oci-spec`. The order of capabilities is lost.
    ///
    /// # Errors
    /// When the crate has no word for something that containerd accepted.
    pub fn typed(&self) -> Result<oci_spec::runtime::Spec, Misfit> {
        Ok(serde_json::from_value(serde_json::to_value(self)?)?)
    }
}

impl TryFrom<&oci_spec::runtime::Spec> for Spec {
    type Error = Misfit;

    /// # Errors
    /// When there is no `process` or no `linux` in it.
    fn try_from(spec: &oci_spec::runtime::Spec) -> Result<Self, Misfit> {
        Ok(serde_json::from_value(serde_json::to_value(spec)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> Spec {
        Spec::try_from(&oci_spec::runtime::Spec::default()).unwrap()
    }

    #[test]
    fn what_the_crate_can_hold_goes_there_and_back() {
        let there = spec().typed().unwrap();
        assert_eq!(there.version(), "1.0.2-dev");
        assert_eq!(there.mounts().as_ref().unwrap().len(), spec().mounts.len());
        assert_eq!(Spec::try_from(&there).unwrap().linux, spec().linux);
    }

    #[test]
    fn a_device_of_a_type_that_nobody_knows_is_held_here_and_refused_by_the_crate() {
        let mut spec = spec();
        spec.linux.devices.push(Device {
            path: "/dev/bad".into(),
            kind: "x".into(),
            major: 7,
            ..Device::default()
        });
        let error = spec.typed().unwrap_err().to_string();
        assert!(error.starts_with("the OCI spec does not fit: unknown variant `x`"));
    }
}
