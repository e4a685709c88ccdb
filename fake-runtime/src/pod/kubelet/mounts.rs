//! A container's mounts.

use super::env::Env;
use super::expand::expand;
use super::volumes::{self, PODS, Source};
use super::{Identity, Kubelet, annotations, env};
use crate::pod::cri::Mount;
use crate::pod::manifest::{Container, Pod, RecursiveReadOnly, SUFFIX, VolumeMount};

const HOSTS: &str = "/etc/hosts";
const TOKEN: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The Pod's mounts in the manifest's order, the token of its service account, the hosts file, the termination log.
/// One of a volume that the Pod does not have is left out: the kubelet would not start the container.
pub(super) fn of(
    kubelet: &Kubelet<'_>,
    pod: &Pod,
    identity: &Identity,
    container: &Container,
    env: &Env,
    notes: &mut Vec<String>,
) -> Vec<Mount> {
    let uid = &identity.uid;
    let mut mounts = Vec::new();
    for (index, mount) in container.volume_mounts.iter().enumerate() {
        let Some(volume) = pod.spec.volumes.iter().find(|it| it.name == mount.name) else {
            let (name, volume) = (&container.name, &mount.name);
            notes.push(format!(
                "{name}: the Pod has no volume {volume:?}, and would not start"
            ));
            continue;
        };
        let source = volumes::source(kubelet.cluster, volume, identity);
        let part = match mount.sub_path_expr.as_str() {
            "" => mount.sub_path.clone(),
            expression => expand(expression, env),
        };
        let mut made = made(kubelet, mount, &source);
        if !part.is_empty() && made.image.is_empty() {
            let (volume, container) = (&source.name, &container.name);
            // A part of a volume is bound beside it first, so that no link in it can lead elsewhere.
            made.host_path = format!("{PODS}/{uid}/volume-subpaths/{volume}/{container}/{index}");
        }
        mounts.push(made);
    }
    let taken = |path: &str| {
        container
            .volume_mounts
            .iter()
            .any(|it| it.mount_path == path)
    };
    if mounts_token(kubelet, pod, identity) && !taken(TOKEN) {
        mounts.push(Mount {
            container_path: TOKEN.to_owned(),
            host_path: format!(
                "{PODS}/{uid}/volumes/kubernetes.io~projected/kube-api-access-{SUFFIX}"
            ),
            readonly: true,
            ..Mount::default()
        });
    }
    if !taken(HOSTS) {
        mounts.push(Mount {
            container_path: HOSTS.to_owned(),
            host_path: format!("{PODS}/{uid}/etc-hosts"),
            ..Mount::default()
        });
    }
    mounts.push(Mount {
        container_path: annotations::termination_message_path(container).to_owned(),
        // A real one makes the name up for each start.
        host_path: format!("{PODS}/{uid}/containers/{}/{:08x}", container.name, 0),
        ..Mount::default()
    });
    mounts
}

fn made(kubelet: &Kubelet<'_>, mount: &VolumeMount, source: &Source) -> Mount {
    let path = &mount.mount_path;
    let readonly = mount.read_only || source.readonly;
    Mount {
        container_path: if path.starts_with('/') {
            path.clone()
        } else {
            format!("/{path}")
        },
        host_path: source.path.clone(),
        readonly,
        recursive_read_only: readonly
            && match mount.recursive_read_only {
                RecursiveReadOnly::Disabled => false,
                RecursiveReadOnly::IfPossible => kubelet.can_recursive_read_only(),
                RecursiveReadOnly::Enabled => true,
            },
        image: source.image.clone(),
        propagation: mount.mount_propagation,
    }
}

/// Not where the Pod comes from a file: it has no account.
fn mounts_token(kubelet: &Kubelet<'_>, pod: &Pod, identity: &Identity) -> bool {
    let of_account = || {
        let account = env::account(pod);
        kubelet.cluster.mounts_token(&identity.namespace, account)
    };
    let said = pod.spec.automount_service_account_token.or_else(of_account);
    kubelet.source == super::Source::Api && said.unwrap_or(true)
}
