//! Security contexts, of a Pod and of a container.

use serde::{Deserialize, Serialize};

use super::or_default;

/// A Pod's or a container's security context.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityContext {
    /// Has the node's devices and every capability.
    pub privileged: Option<bool>,
    /// The user.
    pub run_as_user: Option<u32>,
    /// The user's group.
    pub run_as_group: Option<u32>,
    /// Further groups; of a Pod only.
    #[serde(deserialize_with = "or_default")]
    pub supplemental_groups: Vec<u32>,
    /// Whether the image's groups count, too; of a Pod only.
    #[serde(deserialize_with = "or_default")]
    pub supplemental_groups_policy: String,
    /// The group that owns volumes, a further group; of a Pod only.
    pub fs_group: Option<u32>,
    /// The root file system cannot be written to.
    pub read_only_root_filesystem: Option<bool>,
    /// The system calls that it may make.
    pub seccomp_profile: Option<SeccompProfile>,
}

/// Which system calls a container may make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SeccompProfile {
    /// Where the profile is from.
    #[serde(rename = "type")]
    pub kind: SeccompType,
    /// The profile's file, where it is from one.
    #[serde(default, deserialize_with = "or_default")]
    pub localhost_profile: String,
}

/// Where a seccomp profile is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub enum SeccompType {
    /// There is none.
    #[default]
    Unconfined,
    /// The runtime's own.
    RuntimeDefault,
    /// A file of the node.
    Localhost,
}
