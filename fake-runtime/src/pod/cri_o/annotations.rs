//! A container's annotations: those of its OCI spec, in which CRI-O keeps what it knows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::pod::cri::{Container, Sandbox};
use crate::pod::manifest::{Propagation, SeccompType};
use crate::profile::Requests;

/// The pod's, the container's own and its labels, then CRI-O's.
pub(super) fn of(
    requests: &Requests,
    sandbox: &Sandbox,
    container: &Container,
    id: &str,
    pod_id: &str,
) -> BTreeMap<String, String> {
    let Sandbox {
        name: pod,
        namespace,
        uid,
        log_directory,
        ..
    } = sandbox;
    let name = &container.name;
    let of_pod = format!("{pod}_{namespace}_{uid}_0");
    let files = format!("{}/{pod_id}/userdata", super::mounts::RUN);
    let own: [(&str, String); 17] = [
        ("Annotations", object(&container.annotations)),
        ("ContainerID", id.to_owned()),
        ("ContainerType", "container".to_owned()),
        ("Image", container.image.clone()),
        ("ImageName", container.image.clone()),
        ("Labels", object(&container.labels)),
        ("LogPath", format!("{log_directory}/{name}.log")),
        ("Metadata", json!({ "name": name }).to_string()),
        ("Name", format!("k8s_{name}_{of_pod}")),
        ("ResolvPath", format!("{files}/resolv.conf")),
        ("SandboxID", pod_id.to_owned()),
        ("SandboxName", format!("k8s_{of_pod}")),
        ("SeccompProfilePath", seccomp(container)),
        ("Stdin", "false".to_owned()),
        ("StdinOnce", "false".to_owned()),
        ("TTY", container.tty.to_string()),
        ("Volumes", volumes(container)),
    ];
    let own = own.map(|(key, value)| (format!("io.kubernetes.cri-o.{key}"), value));
    let mut all = sandbox.annotations.clone();
    all.extend(container.annotations.clone());
    all.extend(container.labels.clone());
    all.extend(own);
    all.insert("io.container.manager".to_owned(), "cri-o".to_owned());
    let path = requests.runtime_path_annotation.to_owned();
    all.insert(path, String::new());
    all
}

/// As Go writes a map: nothing at all is `null`.
fn object(map: &BTreeMap<String, String>) -> String {
    if map.is_empty() {
        return Value::Null.to_string();
    }
    json!(map).to_string()
}

fn seccomp(container: &Container) -> String {
    if container.privileged {
        return "Unconfined".to_owned();
    }
    match &container.seccomp {
        None => String::new(),
        Some(profile) => match profile.kind {
            SeccompType::Unconfined => "Unconfined".to_owned(),
            SeccompType::RuntimeDefault => "RuntimeDefault".to_owned(),
            SeccompType::Localhost => profile.localhost_profile.clone(),
        },
    }
}

/// Fields in the order in which they are written.
#[derive(serde::Serialize)]
struct Volume<'a> {
    container_path: &'a str,
    host_path: &'a str,
    readonly: bool,
    recursive_read_only: bool,
    propagation: u8,
    selinux_relabel: bool,
}

fn volumes(container: &Container) -> String {
    let volumes = container.mounts.iter().map(|mount| Volume {
        container_path: &mount.container_path,
        host_path: &mount.host_path,
        readonly: mount.readonly,
        recursive_read_only: false,
        propagation: match mount.propagation {
            Propagation::None => 0,
            Propagation::HostToContainer => 1,
            Propagation::Bidirectional => 2,
        },
        selinux_relabel: false,
    });
    serde_json::to_string(&volumes.collect::<Vec<_>>()).expect("text and numbers have a JSON form")
}
