//! What the runtime asks about: as much of the pod and the container as the decision reads.

use std::collections::BTreeMap;

use crate::path::AbsolutePath;

/// The pod that a container belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// The Kubernetes namespace.
    pub namespace: String,
    /// The pod's name, for messages only.
    pub name: String,
    /// The pod's labels.
    pub labels: BTreeMap<String, String>,
    /// The pod's annotations; those of the container are not read.
    pub annotations: BTreeMap<String, String>,
}

impl Pod {
    /// Whether annotation `key` holds `word` in any ASCII case. Blanks count: `"true "` is not `true`.
    pub(super) fn annotation_says(&self, key: &str, word: &str) -> bool {
        self.annotations
            .get(key)
            .is_some_and(|value| value.eq_ignore_ascii_case(word))
    }
}

/// The container that is about to be created.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Container {
    /// The container's name within its pod.
    pub name: String,
    /// The environment as `KEY=value` items, in order, repeated keys kept.
    pub env: Vec<String>,
    /// What is mounted already.
    pub mounts: Vec<Mount>,
    /// The device nodes.
    pub devices: Vec<Device>,
    /// The device cgroup rules.
    pub device_rules: Vec<DeviceRule>,
    /// The names of the CDI devices, which runtimes tell from containerd 2.3 on.
    pub cdi_devices: Vec<String>,
    /// Whether it runs in a user namespace (`hostUsers: false`).
    pub user_namespace: bool,
}

impl Container {
    /// Whether something is mounted at `destination`, however its path is spelled.
    pub(super) fn mounts_at(&self, destination: &AbsolutePath) -> bool {
        self.mounts
            .iter()
            .any(|mount| destination.is(&mount.destination))
    }
}

/// A mount that the container already has, as the runtime spells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mount {
    /// Where, in the container.
    pub destination: String,
    /// The path on the host, or what the file system makes of it.
    pub source: String,
    /// `bind`, or a file system.
    pub kind: String,
    /// The options, in order.
    pub options: Vec<String>,
}

/// A device node that the container already has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Where the node is in the container.
    pub path: String,
    /// `c`, `b`, `u` or `p`, as OCI spells it.
    pub kind: String,
    /// The major number.
    pub major: i64,
    /// The minor number.
    pub minor: i64,
}

/// A device cgroup rule of the container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceRule {
    /// Whether the rule grants or denies.
    pub allow: bool,
    /// `a`, `c` or `b`; empty, like `a`, is every kind.
    pub kind: String,
    /// The major number, or every one.
    pub major: Option<i64>,
    /// The minor number, or every one.
    pub minor: Option<i64>,
    /// Some of `r`, `w` and `m`.
    pub access: String,
}
