//! The fields of a Pod manifest that reach the runtime. Others are of no interest here.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Text that is no Pod manifest.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is neither YAML nor JSON, or a field has the wrong type.
    #[error("not a Pod manifest: {0}")]
    Syntax(#[from] serde_saphyr::Error),
    /// It is something else of Kubernetes, or of nobody.
    #[error("not a Pod manifest: its kind is {0:?}")]
    Kind(String),
}

/// A Pod.
#[derive(Clone, Debug, Deserialize)]
pub struct Pod {
    /// Who it is.
    pub(super) metadata: Metadata,
    /// What it runs.
    pub(super) spec: PodSpec,
}

/// `metadata`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Metadata {
    /// Its name.
    pub(super) name: String,
    /// Its namespace.
    #[serde(default = "default_namespace")]
    pub(super) namespace: String,
    /// Made up from namespace and name where it is absent.
    #[serde(default)]
    pub(super) uid: String,
    /// Its labels.
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
    /// Its annotations.
    #[serde(default)]
    pub(super) annotations: BTreeMap<String, String>,
}

/// `spec`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    /// Init containers and, with `restartPolicy: Always`, sidecars.
    pub(super) init_containers: Vec<PodContainer>,
    /// Regular containers.
    pub(super) containers: Vec<PodContainer>,
    /// What the containers' volume mounts name.
    pub(super) volumes: Vec<Volume>,
    /// Whether the pod has the node's network.
    pub(super) host_network: bool,
    /// Whether it has the node's processes.
    #[serde(rename = "hostPID")]
    pub(super) host_pid: bool,
    /// Whether it has the node's inter-process communication.
    #[serde(rename = "hostIPC")]
    pub(super) host_ipc: bool,
    /// Whether its containers see each other's processes.
    pub(super) share_process_namespace: bool,
    /// Its host name; its name where it is absent.
    pub(super) hostname: Option<String>,
    /// What holds for containers that do not say otherwise.
    pub(super) security_context: SecurityContext,
}

/// One container of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodContainer {
    /// Its name.
    pub(super) name: String,
    /// Its image.
    pub(super) image: String,
    /// In place of the image's entry point.
    pub(super) command: Vec<String>,
    /// In place of the image's command.
    pub(super) args: Vec<String>,
    /// Its own environment.
    pub(super) env: Vec<Variable>,
    /// What it asks for.
    pub(super) resources: ContainerResources,
    /// Where it mounts volumes.
    pub(super) volume_mounts: Vec<VolumeMount>,
    /// Who it runs as.
    pub(super) security_context: SecurityContext,
    /// Whether it has a terminal.
    pub(super) tty: bool,
}

/// A variable of a container. One whose value comes from elsewhere is given a placeholder.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Variable {
    /// Its name.
    pub(super) name: String,
    /// Its value.
    pub(super) value: Option<String>,
    /// Where its value comes from.
    pub(super) value_from: Option<Value>,
}

/// `resources`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContainerResources {
    /// What it may use at most. A number is as good as text.
    pub(super) limits: BTreeMap<String, Value>,
    /// What it needs at least.
    pub(super) requests: BTreeMap<String, Value>,
}

/// A volume of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Volume {
    /// By which mounts name it.
    pub(super) name: String,
    /// A path of the node; other kinds of volume are staged by the kubelet.
    pub(super) host_path: Option<HostPath>,
}

/// `hostPath`.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct HostPath {
    /// On the node.
    pub(super) path: String,
}

/// Where a container mounts a volume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeMount {
    /// The volume's name.
    pub(super) name: String,
    /// Inside the container.
    pub(super) mount_path: String,
    /// Below the volume.
    pub(super) sub_path: String,
    /// Whether it cannot write there.
    pub(super) read_only: bool,
    /// `None`, `HostToContainer` or `Bidirectional`.
    pub(super) mount_propagation: Option<String>,
}

/// `securityContext` of a container, and what of it a pod has too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SecurityContext {
    /// Whether it has everything that the node has.
    pub(super) privileged: Option<bool>,
    /// The user.
    pub(super) run_as_user: Option<u32>,
    /// The group.
    pub(super) run_as_group: Option<u32>,
    /// Further groups.
    pub(super) supplemental_groups: Vec<u32>,
    /// Whether it cannot write to its root file system.
    pub(super) read_only_root_filesystem: Option<bool>,
}

impl Pod {
    /// Reads a manifest, in YAML or in JSON.
    ///
    /// # Errors
    ///
    /// It is none, or one of something else than a Pod.
    pub fn read(manifest: &str) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(default)]
            kind: String,
        }

        // What it is, before what it lacks: another kind has other fields.
        let Kind { kind } = serde_saphyr::from_str(manifest)?;
        if kind != "Pod" {
            return Err(ManifestError::Kind(kind));
        }
        Ok(serde_saphyr::from_str(manifest)?)
    }
}

fn default_namespace() -> String {
    "default".to_owned()
}
