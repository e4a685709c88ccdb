//! Where a Pod's volumes are on the node.

use super::Identity;
use crate::pod::cluster::{self, Cluster};
use crate::pod::manifest::Volume;

/// Where the kubelet keeps what belongs to a Pod.
pub(super) const PODS: &str = "/var/lib/kubelet/pods";

/// What is mounted of a volume.
#[derive(Default)]
pub(super) struct Source {
    /// By which the kubelet knows the volume: of a claim, the PersistentVolume's name.
    pub(super) name: String,
    /// Where it is on the node.
    pub(super) path: String,
    /// Whether it can be written to from inside.
    pub(super) readonly: bool,
    /// Its image, where it is one.
    pub(super) image: String,
}

pub(super) fn source(cluster: &Cluster, volume: &Volume, identity: &Identity) -> Source {
    let name = volume.name.clone();
    let below = |plugin: &str, name: &str| {
        let uid = &identity.uid;
        format!("{PODS}/{uid}/volumes/kubernetes.io~{plugin}/{name}")
    };
    let held = |plugin: &str, readonly: bool| Source {
        path: below(plugin, &volume.name),
        name: volume.name.clone(),
        readonly,
        ..Source::default()
    };
    let says_readonly = |source: &serde_json::Value| source["readOnly"] == true;
    if let Some(host) = &volume.host_path {
        let path = host.path.clone();
        return Source {
            name,
            path,
            ..Source::default()
        };
    }
    if let Some(image) = &volume.image {
        return Source {
            name,
            readonly: true,
            image: image.reference.clone(),
            ..Source::default()
        };
    }
    let claim = volume.persistent_volume_claim.as_ref();
    // A claim of the Pod's own is named after both.
    let own = volume.ephemeral.as_ref();
    let own = own.map(|_| (format!("{}-{}", identity.name, volume.name), false));
    let claim = claim.map(|claim| (claim.claim_name.clone(), claim.read_only));
    if let Some((claim, readonly)) = claim.or(own) {
        return claimed(cluster, &claim, readonly, identity, below);
    }
    // What the API server holds cannot be written to from inside.
    if volume.config_map.is_some() {
        held("configmap", true)
    } else if volume.secret.is_some() {
        held("secret", true)
    } else if volume.projected.is_some() {
        held("projected", true)
    } else if volume.downward_api.is_some() {
        held("downward-api", true)
    } else if let Some(nfs) = &volume.nfs {
        held("nfs", says_readonly(nfs))
    } else if let Some(csi) = &volume.csi {
        let source = held("csi", says_readonly(csi));
        let path = format!("{}/mount", source.path);
        Source { path, ..source }
    } else {
        held("empty-dir", false)
    }
}

/// Of a claim that nobody told of, a driver's volume of a made-up name.
fn claimed(
    cluster: &Cluster,
    claim: &str,
    readonly: bool,
    identity: &Identity,
    below: impl Fn(&str, &str) -> String,
) -> Source {
    let (name, volume) = match cluster.volume_of(&identity.namespace, claim) {
        Some((name, volume)) => (name.to_owned(), volume),
        None => (format!("pvc-{claim}"), None),
    };
    let cluster::Volume {
        host_path,
        local,
        nfs,
        ..
    } = volume.cloned().unwrap_or_default();
    let path = match (host_path, local, nfs) {
        (Some(host), _, _) => host.path,
        (None, Some(_), _) => below("local-volume", &name),
        (None, None, Some(_)) => below("nfs", &name),
        (None, None, None) => format!("{}/mount", below("csi", &name)),
    };
    Source {
        name,
        path,
        readonly,
        ..Source::default()
    }
}
