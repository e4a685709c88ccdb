//! What one version of containerd sends to plugins and does with their answers, as data.
//!
//! The rest of the crate asks a [`Profile`] and never compares versions. A new version is a new constant in
//! `profile/versions.rs`, written as the differences to the version before it, and a recording that
//! proves it.

mod version;
mod versions;

pub use version::{Series, UnknownVersion};
pub use versions::ALL;

/// One containerd version, or several that behave alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name by which it is chosen: `2.1`, `HEAD`.
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
    /// Whether plugins may judge the outcome through ValidateContainerAdjustment.
    pub validators: bool,
    /// What a CreateContainer request carries beyond what every version sends.
    pub requests: Requests,
    /// How a conflict between plugins is worded.
    pub conflicts: ConflictStyle,
    /// Whether a key that a plugin removed stays that plugin's: later ones may not set it.
    pub removal_reserves: bool,
    /// What becomes of the fields of an adjustment that not every version honours.
    pub adjust: Adjust,
    /// How devices named by CDI are injected.
    pub cdi: CdiInjection,
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

/// How the thing that two plugins both set is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictStyle {
    /// In words: `env PATH`, `memory limit`.
    Words,
    /// By the field's name in NRI's protobuf, a blank, and the key where there is one: `Env PATH`,
    /// `MemLimit `.
    FieldNames,
}

/// What becomes of a field of an adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Dropped without an error: this version's protobuf does not know it.
    Ignored,
    /// Honoured.
    Applied,
    /// containerd itself dies: a Go panic.
    KillsRuntime,
}

/// What becomes of the fields of an adjustment that not every version honours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjust {
    /// `CDI_devices`.
    pub cdi_devices: bool,
    /// `mounts` with a removal mark: whether the container's own mount goes.
    pub mount_removal: bool,
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
    /// `linux.sysctl`. Where setting one kills containerd, removal marks alone do not.
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
    /// The profile of a version: by its name (`2.2`, `HEAD`) or by what a containerd says of itself
    /// (`1.7.24~ds1`, `v2.2.7`, `2.1.9+unknown`).
    ///
    /// # Errors
    /// [`UnknownVersion`] names the profiles that there are.
    pub fn find(version: &str) -> Result<&'static Self, UnknownVersion> {
        ALL.iter()
            .find(|profile| profile.name == version)
            .or_else(|| {
                let (major, minor, patch) = version::parse(version)?;
                ALL.iter()
                    .find(|profile| profile.series.contains(major, minor, patch))
            })
            .ok_or_else(|| UnknownVersion(version.to_owned()))
    }
}

impl Default for &'static Profile {
    /// containerd 2.1, the oldest that honours CDI devices.
    fn default() -> Self {
        &versions::V2_1
    }
}
