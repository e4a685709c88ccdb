//! The volumes of a Pod.

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

/// A volume: a name, and one source among those that Kubernetes knows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// By which containers mount it.
    pub name: String,
    /// A path of the node.
    pub host_path: Option<HostPath>,
    /// A directory that lives as long as the Pod.
    pub empty_dir: Option<Value>,
    /// A ConfigMap's entries.
    pub config_map: Option<Value>,
    /// A Secret's entries.
    pub secret: Option<Value>,
    /// Entries of several sources.
    pub projected: Option<Value>,
    /// Facts about the Pod itself.
    #[serde(rename = "downwardAPI")]
    pub downward_api: Option<Value>,
    /// A claim for storage.
    pub persistent_volume_claim: Option<Named>,
}

/// A path of the node.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HostPath {
    /// Absolute.
    pub path: String,
}

/// A reference to a claim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The claim's name.
    #[serde(default, deserialize_with = "or_default")]
    pub claim_name: String,
}
