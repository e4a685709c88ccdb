//! A Pod manifest, as far as a runtime gets to see it.
//!
//! What is left out (probes, affinity, tolerations …) is read over. A field that is null counts as absent, as
//! it does for the API server.

mod containers;
mod read;
mod volumes;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

pub use containers::{
    Container, EnvSource, EnvVar, FieldRef, KeyRef, Propagation, ResourceFieldRef, Resources,
    SeccompProfile, SeccompType, SecurityContext, VolumeMount,
};
pub use read::{ManifestError, parse, read};
pub use volumes::{HostPath, Named, Volume};

/// A Pod, as a manifest writes it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Pod {
    /// Name, namespace, labels and the like.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is to run.
    pub spec: PodSpec,
}

/// A Pod's metadata.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// The name; where it is empty, `generate_name` starts one.
    #[serde(deserialize_with = "or_default")]
    pub name: String,
    /// What the API server makes a name from.
    #[serde(deserialize_with = "or_default")]
    pub generate_name: String,
    /// Empty is `default`.
    #[serde(deserialize_with = "or_default")]
    pub namespace: String,
    /// What the API server gave it, in a manifest that was read back from a cluster.
    #[serde(deserialize_with = "or_default")]
    pub uid: String,
    /// Labels.
    #[serde(deserialize_with = "or_default")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(deserialize_with = "or_default")]
    pub annotations: BTreeMap<String, String>,
}

/// A Pod's spec.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Run to their end one after the other before the others start, but for those that are sidecars.
    #[serde(deserialize_with = "or_default")]
    pub init_containers: Vec<Container>,
    /// The containers.
    #[serde(deserialize_with = "or_default")]
    pub containers: Vec<Container>,
    /// What containers mount by name.
    #[serde(deserialize_with = "or_default")]
    pub volumes: Vec<Volume>,
    /// The host name inside; empty is the Pod's name.
    #[serde(deserialize_with = "or_default")]
    pub hostname: String,
    /// The node it runs on, where it is bound to one.
    #[serde(deserialize_with = "or_default")]
    pub node_name: String,
    /// The service account.
    #[serde(deserialize_with = "or_default")]
    pub service_account_name: String,
    /// The RuntimeClass, which is taken for the name of its handler.
    #[serde(deserialize_with = "or_default")]
    pub runtime_class_name: String,
    /// Shares the node's network.
    #[serde(deserialize_with = "or_default")]
    pub host_network: bool,
    /// Shares the node's process ids.
    #[serde(rename = "hostPID", deserialize_with = "or_default")]
    pub host_pid: bool,
    /// Shares the node's IPC.
    #[serde(rename = "hostIPC", deserialize_with = "or_default")]
    pub host_ipc: bool,
    /// One process id namespace for all its containers.
    #[serde(deserialize_with = "or_default")]
    pub share_process_namespace: bool,
    /// What holds for every container that does not say otherwise.
    #[serde(deserialize_with = "or_default")]
    pub security_context: SecurityContext,
}

/// Null is the default.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
