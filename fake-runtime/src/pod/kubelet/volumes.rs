//! A container's mounts of the Pod's volumes.

use crate::pod::cri::Mount;
use crate::pod::manifest::{Container, Pod, Volume, VolumeMount};

/// Where the kubelet keeps what belongs to a Pod.
const PODS: &str = "/var/lib/kubelet/pods";

/// The mounts, in the manifest's order. One of a volume that the Pod does not have is left out: the kubelet would
/// not start the container.
pub(super) fn mounts(pod: &Pod, uid: &str, container: &Container) -> Vec<Mount> {
    let mount = |(index, mount): (usize, &VolumeMount)| {
        let volume = pod
            .spec
            .volumes
            .iter()
            .find(|volume| volume.name == mount.name)?;
        Some(Mount {
            container_path: mount.mount_path.clone(),
            host_path: source(volume, uid, container, index, mount),
            readonly: mount.read_only || is_readonly(volume),
            propagation: mount.mount_propagation,
        })
    };
    container
        .volume_mounts
        .iter()
        .enumerate()
        .filter_map(mount)
        .collect()
}

fn source(
    volume: &Volume,
    uid: &str,
    container: &Container,
    index: usize,
    mount: &VolumeMount,
) -> String {
    let name = &volume.name;
    let whole = match &volume.host_path {
        Some(host) => host.path.clone(),
        None => format!("{PODS}/{uid}/volumes/{}", below_volumes(volume)),
    };
    match (mount.sub_path.as_str(), &volume.host_path) {
        ("", _) => whole,
        // The kubelet binds a part of a volume beside it first, so that no link in it can lead elsewhere.
        (_, None) => {
            format!(
                "{PODS}/{uid}/volume-subpaths/{name}/{}/{index}",
                container.name
            )
        }
        (part, Some(_)) => format!("{whole}/{part}"),
    }
}

fn below_volumes(volume: &Volume) -> String {
    let name = &volume.name;
    let plugin = if volume.empty_dir.is_some() {
        "empty-dir"
    } else if volume.config_map.is_some() {
        "configmap"
    } else if volume.secret.is_some() {
        "secret"
    } else if volume.projected.is_some() {
        "projected"
    } else if volume.downward_api.is_some() {
        "downward-api"
    } else if let Some(claim) = &volume.persistent_volume_claim {
        return format!("kubernetes.io~csi/{}/mount", claim.claim_name);
    } else {
        "other"
    };
    format!("kubernetes.io~{plugin}/{name}")
}

/// What the API server holds cannot be written to from inside.
fn is_readonly(volume: &Volume) -> bool {
    volume.config_map.is_some()
        || volume.secret.is_some()
        || volume.projected.is_some()
        || volume.downward_api.is_some()
}
