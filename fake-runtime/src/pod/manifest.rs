//! A Pod manifest, as far as a runtime gets to see it.
//!
//! Every field is held against what the API server knows ([`schema`]); what bears on a request is in the types here. A
//! field that is null counts as absent, as it does for the API server.

mod containers;
mod context;
mod read;
mod schema;
mod template;
mod volumes;
mod workload;
mod yaml;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::quantity::Quantity;

pub use containers::{
    ClaimRef, Container, EnvFrom, EnvSource, EnvVar, FieldRef, FileKeyRef, KeyRef, Lifecycle,
    Optional, Propagation, RecursiveReadOnly, ResourceFieldRef, Resources, VolumeMount,
};
pub use context::{SeccompProfile, SeccompType, SecurityContext};
pub use read::{Manifest, ManifestError, parse, read};
pub use volumes::{Claim, HostPath, ImageVolume, Volume};
pub use yaml::At;

pub(crate) use workload::{HASH, MINUTES, SUFFIX, generated};
pub(crate) use yaml::{Node, documents};

/// A Pod, as a manifest writes it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Pod {
    /// Name, namespace, labels and the like.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// What is to run.
    pub spec: PodSpec,
    /// What has become of it, in a manifest that was read back from a cluster.
    #[serde(default, deserialize_with = "or_default")]
    pub status: Status,
}

impl Pod {
    /// The images of its containers.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        let spec = &self.spec;
        let containers = spec.init_containers.iter().chain(&spec.containers);
        let containers = containers.chain(&spec.ephemeral_containers);
        containers.map(|container| container.image.as_str())
    }
}

/// What has become of a Pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Its node's address.
    #[serde(rename = "hostIP")]
    pub host_ip: Option<String>,
    /// Its own.
    #[serde(rename = "podIP")]
    pub pod_ip: Option<String>,
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

impl Metadata {
    /// The namespace, `default` where none is said.
    #[must_use]
    pub fn namespace(&self) -> &str {
        match self.namespace.as_str() {
            "" => "default",
            namespace => namespace,
        }
    }
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
    /// Those that were added while it ran.
    #[serde(deserialize_with = "or_default")]
    pub ephemeral_containers: Vec<Container>,
    /// The host name inside; empty is the Pod's name.
    #[serde(deserialize_with = "or_default")]
    pub hostname: String,
    /// Between host name and namespace in the full name.
    #[serde(deserialize_with = "or_default")]
    pub subdomain: String,
    /// The host name inside is the full one.
    #[serde(rename = "setHostnameAsFQDN", deserialize_with = "or_default")]
    pub set_hostname_as_fqdn: bool,
    /// The host name inside, whatever else is said.
    #[serde(deserialize_with = "or_default")]
    pub hostname_override: String,
    /// The node it runs on, where it is bound to one.
    #[serde(deserialize_with = "or_default")]
    pub node_name: String,
    /// The service account.
    #[serde(deserialize_with = "or_default")]
    pub service_account_name: String,
    /// The same under its old name.
    #[serde(deserialize_with = "or_default")]
    pub service_account: String,
    /// Whether the account's token is mounted; where it is not said, the account says.
    pub automount_service_account_token: Option<bool>,
    /// Whether containers get variables for the namespace's Services; they do where nothing is said.
    pub enable_service_links: Option<bool>,
    /// How long it may take to end, in seconds.
    pub termination_grace_period_seconds: Option<i64>,
    /// The RuntimeClass.
    #[serde(deserialize_with = "or_default")]
    pub runtime_class_name: String,
    /// The PriorityClass.
    #[serde(deserialize_with = "or_default")]
    pub priority_class_name: String,
    /// The priority, where the API server has looked the class up.
    pub priority: Option<i64>,
    /// What is needed to run it at all, besides its containers.
    #[serde(deserialize_with = "or_default")]
    pub overhead: BTreeMap<String, Quantity>,
    /// What its containers may use together.
    #[serde(deserialize_with = "or_default")]
    pub resources: Resources,
    /// Its users are the node's; they are where nothing is said.
    pub host_users: Option<bool>,
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
