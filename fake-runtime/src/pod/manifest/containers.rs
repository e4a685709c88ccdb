//! The containers of a Pod.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::context::SecurityContext;
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
    /// Whole ConfigMaps and Secrets as variables, in order.
    #[serde(deserialize_with = "or_default")]
    pub env_from: Vec<EnvFrom>,
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
    /// Ports that it listens on.
    #[serde(deserialize_with = "or_default")]
    pub ports: Vec<Value>,
    /// What is run when it starts and before it ends.
    #[serde(deserialize_with = "or_default")]
    pub lifecycle: Lifecycle,
    /// Where it leaves its last words; empty is `/dev/termination-log`.
    #[serde(deserialize_with = "or_default")]
    pub termination_message_path: String,
    /// What counts for its last words; empty is `File`.
    #[serde(deserialize_with = "or_default")]
    pub termination_message_policy: String,
    /// Of an ephemeral container: the one whose processes it sees.
    #[serde(deserialize_with = "or_default")]
    pub target_container_name: String,
}

/// What is run when a container starts and before it ends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lifecycle {
    /// Before it ends.
    pub pre_stop: Option<Value>,
}

/// A whole ConfigMap or Secret as variables.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvFrom {
    /// Before each name.
    #[serde(deserialize_with = "or_default")]
    pub prefix: String,
    /// A ConfigMap.
    pub config_map_ref: Option<Optional>,
    /// A Secret.
    pub secret_ref: Option<Optional>,
}

/// An object that need not be there.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Optional {
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// Whether it may be missing.
    #[serde(deserialize_with = "or_default")]
    pub optional: bool,
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
    /// In a file of a volume, which is read when the container is made.
    pub file_key_ref: Option<FileKeyRef>,
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
#[serde(rename_all = "camelCase", default)]
pub struct ResourceFieldRef {
    /// The container; empty is the one that has the variable.
    #[serde(deserialize_with = "or_default")]
    pub container_name: String,
    /// `limits.cpu` and the like.
    pub resource: String,
    /// In which unit; 0 is 1.
    #[serde(deserialize_with = "or_default")]
    pub divisor: Quantity,
}

/// An entry of a ConfigMap or Secret.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct KeyRef {
    /// The object's name.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// The entry's.
    pub key: String,
    /// Whether it may be missing.
    #[serde(deserialize_with = "or_default")]
    pub optional: bool,
}

/// A variable of a file in a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FileKeyRef {
    /// The volume.
    pub volume_name: String,
    /// The file's path in it.
    pub path: String,
    /// The variable's name in the file.
    pub key: String,
}

/// A claim for devices of a DRA driver, as a container names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimRef {
    /// Among the Pod's claims.
    pub name: String,
    /// One of its requests; empty is all of them.
    #[serde(deserialize_with = "or_default")]
    pub request: String,
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
    /// The same, with variables of the container in it.
    #[serde(deserialize_with = "or_default")]
    pub sub_path_expr: String,
    /// Whether it cannot be written to.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
    /// Whether that holds for the mounts below it, too.
    #[serde(deserialize_with = "or_default")]
    pub recursive_read_only: RecursiveReadOnly,
    /// Whether mounts made below it show on the other side.
    #[serde(deserialize_with = "or_default")]
    pub mount_propagation: Propagation,
}

/// Whether the mounts below a read-only mount are read-only, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum RecursiveReadOnly {
    /// They are as they are.
    #[default]
    Disabled,
    /// They are where the runtime can do that.
    IfPossible,
    /// They are, or there is no container.
    Enabled,
}

/// Whether mounts made below a mount show on its other side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
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
    pub claims: Vec<ClaimRef>,
}
