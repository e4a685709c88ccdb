//! The containers of a Pod.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::or_default;
use crate::pod::quantity::Quantity;

/// A container, as a manifest writes it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Unique within the Pod.
    pub name: String,
    /// The image's reference.
    #[serde(deserialize_with = "or_default")]
    pub image: String,
    /// In place of the image's entry point.
    #[serde(deserialize_with = "or_default")]
    pub command: Vec<String>,
    /// In place of the image's arguments.
    #[serde(deserialize_with = "or_default")]
    pub args: Vec<String>,
    /// Variables, in order.
    #[serde(deserialize_with = "or_default")]
    pub env: Vec<EnvVar>,
    /// Mounts of the Pod's volumes.
    #[serde(deserialize_with = "or_default")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Requests and limits.
    #[serde(deserialize_with = "or_default")]
    pub resources: Resources,
    /// What holds for this container alone.
    #[serde(deserialize_with = "or_default")]
    pub security_context: SecurityContext,
    /// `Always` makes an init container a sidecar.
    #[serde(deserialize_with = "or_default")]
    pub restart_policy: String,
    /// Has a terminal.
    #[serde(deserialize_with = "or_default")]
    pub tty: bool,
}

/// A variable.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value, in which `$(NAME)` stands for that of an earlier variable.
    #[serde(deserialize_with = "or_default")]
    pub value: String,
    /// Where the value is, if not here.
    pub value_from: Option<EnvSource>,
}

/// Where a variable's value is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvSource {
    /// In the Pod itself.
    pub field_ref: Option<FieldRef>,
    /// In a container's requests and limits.
    pub resource_field_ref: Option<ResourceFieldRef>,
    /// In a ConfigMap.
    pub config_map_key_ref: Option<KeyRef>,
    /// In a Secret.
    pub secret_key_ref: Option<KeyRef>,
}

/// A field of the Pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldRef {
    /// `metadata.name`, `status.podIP` and the like.
    pub field_path: String,
}

/// One of a container's requests and limits.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ResourceFieldRef {
    /// `limits.cpu` and the like.
    pub resource: String,
}

/// An entry of a ConfigMap or Secret.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeyRef {
    /// The object's name.
    pub name: String,
    /// The entry's.
    pub key: String,
}

/// A mount of one of the Pod's volumes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The volume's name.
    pub name: String,
    /// Where it goes.
    pub mount_path: String,
    /// What of the volume is mounted; empty is all.
    #[serde(deserialize_with = "or_default")]
    pub sub_path: String,
    /// Whether it cannot be written to.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    /// Whether mounts made below it show on the other side.
    #[serde(deserialize_with = "or_default")]
    pub mount_propagation: Propagation,
}

/// Whether mounts made below a mount show on its other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Propagation {
    /// Neither way.
    #[default]
    None,
    /// From the node to the container.
    HostToContainer,
    /// Both ways.
    Bidirectional,
}

/// Requests and limits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What it may use at most.
    #[serde(deserialize_with = "or_default")]
    pub limits: BTreeMap<String, Quantity>,
    /// What is set aside for it.
    #[serde(deserialize_with = "or_default")]
    pub requests: BTreeMap<String, Quantity>,
    /// Claims for devices of a DRA driver.
    #[serde(deserialize_with = "or_default")]
    pub claims: Vec<KeyRef>,
}

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
    /// The group that owns volumes, a further group; of a Pod only.
    pub fs_group: Option<u32>,
    /// The root file system cannot be written to.
    pub read_only_root_filesystem: Option<bool>,
    /// The system calls that it may make.
    pub seccomp_profile: Option<SeccompProfile>,
}

/// Which system calls a container may make.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum SeccompType {
    /// There is none.
    #[default]
    Unconfined,
    /// The runtime's own.
    RuntimeDefault,
    /// A file of the node.
    Localhost,
}
