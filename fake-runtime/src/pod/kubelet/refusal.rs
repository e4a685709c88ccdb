//! Pods that never get as far as the runtime.

use super::order::in_order;
use super::told::Kubelet;
use crate::pod::manifest::{Pod, Propagation, RecursiveReadOnly};

/// Why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The API server takes no such Pod.
    #[error("the API server refuses pod {pod:?}: {why}")]
    ApiServer {
        /// Its name.
        pod: String,
        /// In one line.
        why: String,
    },
    /// The kubelet takes it, and makes no container of it.
    #[error("the kubelet does not run pod {pod:?}: {why}")]
    Kubelet {
        /// Its name.
        pod: String,
        /// In one line.
        why: String,
    },
}

pub(super) fn check(pod: &Pod, kubelet: &Kubelet<'_>) -> Result<(), Refusal> {
    let name = || pod.metadata.name.clone();
    if let Some(why) = refused_by_api_server(pod) {
        return Err(Refusal::ApiServer { pod: name(), why });
    }
    if let Some(why) = refused_by_kubelet(pod, kubelet) {
        return Err(Refusal::Kubelet { pod: name(), why });
    }
    Ok(())
}

fn refused_by_api_server(pod: &Pod) -> Option<String> {
    for container in in_order(pod) {
        let name = &container.name;
        let mounts = &container.volume_mounts;
        for (index, mount) in mounts.iter().enumerate() {
            let path = &mount.mount_path;
            if mounts[..index].iter().any(|it| it.mount_path == *path) {
                return Some(format!("container {name:?} has two mounts at {path:?}"));
            }
            let privileged = container.security_context.privileged == Some(true);
            if mount.mount_propagation == Propagation::Bidirectional && !privileged {
                return Some(format!(
                    "container {name:?} mounts {path:?} with Bidirectional propagation and is not privileged"
                ));
            }
        }
    }
    None
}

fn refused_by_kubelet(pod: &Pod, kubelet: &Kubelet<'_>) -> Option<String> {
    let spec = &pod.spec;
    let lacks = |what: &str| Some(format!("containerd {} has no {what}", kubelet.profile.name));
    if spec.host_users == Some(false) && !kubelet.has_user_namespaces() {
        return lacks("user namespaces, which hostUsers: false asks for");
    }
    if spec.security_context.supplemental_groups_policy == "Strict"
        && !kubelet.knows_groups_policy()
    {
        return lacks("supplementalGroupsPolicy: Strict");
    }
    let mut mounts = in_order(pod).flat_map(|container| &container.volume_mounts);
    if mounts.any(|mount| mount.recursive_read_only == RecursiveReadOnly::Enabled)
        && !kubelet.can_recursive_read_only()
    {
        return lacks("mounts with recursiveReadOnly: Enabled");
    }
    let images = spec.volumes.iter().any(|volume| volume.image.is_some());
    if images && !kubelet.profile.cri.image_volumes {
        return lacks("images as volumes");
    }
    None
}

impl Kubelet<'_> {
    pub(super) fn can_recursive_read_only(&self) -> bool {
        let known = self.node.features.recursive_read_only;
        known.unwrap_or(self.profile.cri.recursive_read_only)
    }

    fn has_user_namespaces(&self) -> bool {
        let known = self.node.features.user_namespaces;
        known.unwrap_or(self.profile.cri.user_namespaces)
    }

    fn knows_groups_policy(&self) -> bool {
        let known = self.node.features.supplemental_groups_policy;
        known.unwrap_or(self.profile.cri.supplemental_groups_policy)
    }
}
