//! What one version of a runtime sends to plugins and does with their answers, as data.
//!
//! The rest of the crate asks a [`Profile`] and never compares runtimes or versions. A new version is a new constant
//! in `profile/containerd.rs` or `profile/cri_o.rs`, written as the differences to another one, and a recording that
//! proves it.

mod containerd;
mod cri_o;
mod life;
mod series;
mod version;

use std::fmt;

pub use life::Life;
pub use series::Series;
pub use version::UnknownVersion;

/// Every profile: containerd's, then CRI-O's, oldest first.
pub const ALL: &[Profile] = &[
    containerd::V1_7,
    containerd::V2_1,
    containerd::V2_2_0,
    containerd::V2_2,
    containerd::V2_3,
    containerd::HEAD,
    cri_o::V1_31,
    cri_o::V1_33,
    cri_o::V1_34,
    cri_o::V1_37,
];

/// One version of a runtime, or several that behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// What the runtime calls itself in Configure: `containerd`, `cri-o`.
    pub runtime: &'static str,
    /// The version by which it is chosen: `2.1`, `HEAD`.
    pub name: &'static str,
    /// The releases that it stands for.
    pub series: Series,
    /// What it says of itself in Configure, as the measured build did: `2.1.9+unknown`.
    pub runtime_version: &'static str,
    /// The version of the NRI library in it, as Configure would write it: `v0.8.0`.
    pub nri_version: &'static str,
    /// The `ociVersion` of the specs that it writes.
    pub oci_version: &'static str,
    /// What Configure tells beside name and version.
    pub configure: Configure,
    /// The events that a plugin may subscribe to, event n being bit n-1. A bit beyond closes the
    /// connection.
    pub events: i32,
    /// Whether a plugin's name may only have letters, digits and `_.+-`, and not merely be non-empty.
    pub strict_plugin_names: bool,
    /// Whether lifecycle events travel as a call of their own (`RunPodSandbox`) and not as StateChange.
    pub lifecycle_calls: bool,
    /// Whether an inventory that is too large for one message is sent in several; otherwise the plugin is dropped.
    pub splits_synchronize: bool,
    /// Whether a plugin that the runtime starts itself is told what is there already.
    pub synchronizes_preinstalled: bool,
    /// Whether a pod that is stopped is still told of with what its own container's spec says.
    pub stopped_pod_spec: bool,
    /// Whether plugins may judge the outcome through ValidateContainerAdjustment.
    pub validators: bool,
    /// What a CreateContainer request carries beyond what every version sends.
    pub requests: Requests,
    /// How a conflict between plugins is worded.
    pub conflicts: ConflictStyle,
    /// What a CRI client is told around the reason why there is no container.
    pub errors: ErrorTexts,
    /// The calls of a pod's life.
    pub life: Life,
    /// Whether a key that a plugin removed stays that plugin's: later ones may not set it.
    pub removal_reserves: bool,
    /// Whether CreateContainer calls the OCI runtime, so that what that refuses fails CreateContainer and not
    /// StartContainer.
    pub oci_runtime_in_create: bool,
    /// What becomes of the fields of an adjustment that not every version honours.
    pub adjust: Adjust,
    /// How devices named by CDI are injected.
    pub cdi: CdiInjection,
    /// What a kubelet can ask it for.
    pub cri: Cri,
}

/// What a kubelet can ask a runtime for, unless the node's configuration says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cri {
    /// Mounts that are read-only with all that is mounted below.
    pub recursive_read_only: bool,
    /// Pods with users of their own.
    pub user_namespaces: bool,
    /// Groups as the Pod says, and not also as the image does.
    pub supplemental_groups_policy: bool,
    /// Images as volumes.
    pub image_volumes: bool,
    /// Devices by their CDI names; otherwise they are left out.
    pub cdi_devices: bool,
    /// Whether the annotation with the image's name says what the Pod says, and not how the runtime knows it.
    pub image_as_asked: bool,
}

/// How long a plugin may take to answer a request, in milliseconds, in every version.
pub const REQUEST_TIMEOUT_MS: i64 = 2000;
/// How long a plugin may take from connecting to registering, in milliseconds, in every version.
pub const REGISTRATION_TIMEOUT_MS: i64 = 5000;

/// What Configure tells beside the runtime's name and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configure {
    /// The request and registration timeouts.
    pub timeouts: bool,
    /// The NRI version.
    pub nri_version: bool,
}

/// What a CreateContainer request carries beyond what every version sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requests {
    /// Whose way it is to make a request of what CRI says.
    pub maker: Maker,
    /// `container.linux.resources.pids`, where CRI says nothing of it.
    pub pids: bool,
    /// Whether `container.name` is that of the kubelet's label alone.
    pub container_name_from_label: bool,
    /// The container's annotation with the path of the OCI runtime; empty for none.
    pub runtime_path_annotation: &'static str,
    /// `container.linux.resources.unified`.
    pub unified: bool,
    /// `container.linux.seccomp_profile`; an empty message is RuntimeDefault.
    pub seccomp_profile: bool,
    /// `container.linux.io_priority`, `.scheduler`, `.net_devices`, `.rdt`.
    pub scheduling: bool,
    /// `container.linux.seccomp_policy`: the whole profile of the pod.
    pub seccomp_policy: bool,
    /// `container.linux.sysctl`.
    pub sysctl: bool,
    /// `container.CDI_devices`: the names asked for over CRI, never those of an annotation.
    pub cdi_devices: bool,
    /// `container.user`.
    pub user: bool,
    /// `container.rlimits`: what the runtime's base spec has.
    pub rlimits: bool,
    /// `container.image`.
    pub image: bool,
    /// The pod's annotation `io.kubernetes.cri.podsandbox.image-name`.
    pub sandbox_image_annotation: bool,
    /// The pod's label `oci_runtime_type`.
    pub runtime_type_label: bool,
    /// In Synchronize: `created_at`, `started_at` and the like.
    pub container_times: bool,
}

/// Whose way it is to make a request of what CRI says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maker {
    /// containerd's: `PATH` once, the pod's facts in annotations.
    Containerd,
    /// CRI-O's: `PATH` twice, the OCI spec's annotations.
    CriO,
}

/// How the thing that two plugins both set is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictStyle {
    /// In words: `env PATH`, `memory limit`.
    Words,
    /// By the field's name in NRI's protobuf, a blank, and the key where there is one: `Env PATH`,
    /// `MemLimit `.
    FieldNames,
}

/// What a CRI client is told around the reason why there is no container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorTexts {
    /// Before what comes of asking plugins.
    pub asking: &'static str,
    /// Whether a plugin's own error is told with its gRPC status: `rpc error: code = Unknown desc = …`. Otherwise it is
    /// told alone.
    pub plugin_status: bool,
    /// Before what comes of changing the spec; `{id}` is the container's.
    pub adjusting: &'static str,
    /// Before what the OCI runtime says.
    pub oci_runtime: &'static str,
}

/// What becomes of a field of an adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped without an error: this version's protobuf does not know it.
    Ignored,
    /// Honoured.
    Applied,
    /// The runtime itself dies: a Go panic.
    KillsRuntime,
}

/// What becomes of the fields of an adjustment that not every version honours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjust {
    /// `CDI_devices`.
    pub cdi_devices: bool,
    /// `mounts` with a removal mark: whether the container's own mount goes.
    pub mount_removal: bool,
    /// The least memory limit in bytes that `linux.resources.memory` may leave.
    pub least_memory: Option<i64>,
    /// `linux.resources.hugepage_limits`. Otherwise the spec's own go too.
    pub hugepage_limits: bool,
    /// Whether a block I/O class that is not configured is ignored, and not refused.
    pub unknown_blockio_class: bool,
    /// `linux.oom_score_adj`.
    pub oom_score_adj: bool,
    /// `linux.resources.pids`.
    pub pids: bool,
    /// Whether a negative pids limit is written into the spec; otherwise `pids` stays without a limit.
    pub negative_pids_limit: bool,
    /// `args`.
    pub args: bool,
    /// `linux.io_priority`.
    pub io_priority: bool,
    /// `linux.seccomp_policy`.
    pub seccomp_policy: bool,
    /// `errno_ret` of a syscall in `linux.seccomp_policy`.
    pub seccomp_errno: Fate,
    /// `linux.namespaces`.
    pub namespaces: bool,
    /// The namespace type `time`.
    pub time_namespace: bool,
    /// `linux.resources.devices`: cgroup rules.
    pub device_rules: bool,
    /// `linux.sysctl`. Where setting one kills the runtime, removal marks alone do not.
    pub sysctl: Fate,
    /// `linux.net_devices`.
    pub net_devices: bool,
    /// `linux.scheduler`.
    pub scheduler: bool,
    /// `linux.rdt`.
    pub rdt: bool,
    /// `linux.memory_policy`.
    pub memory_policy: bool,
}

/// How devices named by CDI are injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CdiInjection {
    /// Whether a node without a file mode gets that of the host's node.
    pub host_file_mode: bool,
    /// Whether a variable that the container has is replaced; otherwise it stands there twice, and the
    /// last one wins inside.
    pub replaces_env: bool,
    /// Whether mounts of one depth are sorted by their paths where CDI brings one; otherwise they keep their order.
    pub sorts_mounts_by_path: bool,
}

impl Profile {
    /// The profile of a runtime's version: `containerd-2.3`, `cri-o-1.37`. Without a runtime it is containerd's: `2.2`,
    /// `HEAD`. A whole release will do, as a runtime writes it: `v2.2.7`, `2.1.9+unknown`, `cri-o-1.37.0`.
    ///
    /// # Errors
    /// [`UnknownVersion`] names the profiles that there are.
    pub fn find(name: &str) -> Result<&'static Self, UnknownVersion> {
        let (runtime, version) = version::split(name);
        Self::of(runtime, version).map_err(|_| UnknownVersion(name.to_owned()))
    }

    /// The profile of the runtime that says this of itself in Configure.
    ///
    /// # Errors
    /// [`UnknownVersion`] names the profiles that there are.
    pub fn of(runtime: &str, version: &str) -> Result<&'static Self, UnknownVersion> {
        let of_runtime = || ALL.iter().filter(|profile| profile.runtime == runtime);
        of_runtime()
            .find(|profile| profile.name == version)
            .or_else(|| {
                let (major, minor, patch) = version::parse(version)?;
                of_runtime().find(|profile| profile.series.contains(major, minor, patch))
            })
            .ok_or_else(|| UnknownVersion(format!("{runtime}-{version}")))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.runtime, self.name)
    }
}

impl Default for &'static Profile {
    /// containerd 2.1, the oldest that honours CDI devices.
    fn default() -> Self {
        &containerd::V2_1
    }
}
