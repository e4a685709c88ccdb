//! The volumes of a Pod.

use serde::Deserialize;
use serde_json::Value;

use super::or_default;

/// A volume: a name, and one source among those that Kubernetes knows; without one it is an empty directory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// By which containers mount it.
    pub name: String,
    /// A path of the node.
    pub host_path: Option<HostPath>,
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
    pub persistent_volume_claim: Option<Claim>,
    /// A claim for storage that lives as long as the Pod.
    pub ephemeral: Option<Value>,
    /// Storage of a driver.
    pub csi: Option<Value>,
    /// An export of an NFS server.
    pub nfs: Option<Value>,
    /// The files of an image.
    pub image: Option<ImageVolume>,
}

/// A path of the node.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct HostPath {
    /// Absolute.
    pub path: String,
}

/// A claim for storage.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The claim's name.
    #[serde(deserialize_with = "or_default")]
    pub claim_name: String,
    /// Nothing can be written through it.
    #[serde(deserialize_with = "or_default")]
    pub read_only: bool,
}

/// An image as a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ImageVolume {
    /// The image's reference.
    #[serde(deserialize_with = "or_default")]
    pub reference: String,
}
