//! The mounts of a container.

use nri_proto::api::Mount;

use crate::pod::containerd::mounts as containerd;
use crate::pod::cri::{Container, PidNamespace, Sandbox};

/// Where CRI-O keeps a pod's files.
pub(super) const RUN: &str = "/run/containers/storage/overlay-containers";
/// Where it keeps those of the pod's own container.
const STATE: &str = "/var/lib/containers/storage/overlay-containers";

/// The file systems of every container, the pod's files, then the Pod's mounts. What the Pod mounts is not mounted a
/// second time.
pub(super) fn of(sandbox: &Sandbox, container: &Container, pod_id: &str) -> Vec<Mount> {
    let mut mounts = containerd::file_systems(container.privileged);
    if container.privileged {
        mounts.iter_mut().for_each(writable);
    }
    mounts.extend(pod_files(sandbox, pod_id));
    let further = container.mounts.iter().map(|mount| {
        let mut mount = containerd::bind(mount);
        mount.options.push("bind".to_owned());
        mount
    });
    let further: Vec<_> = further.collect();
    mounts.retain(|mount| {
        !further
            .iter()
            .any(|other| other.destination == mount.destination)
    });
    mounts.extend(further);
    mounts
}

/// A file system of a privileged container.
fn writable(mount: &mut Mount) {
    let options = &mut mount.options;
    match mount.destination.as_str() {
        "/sys" => options.push("rslave".to_owned()),
        "/sys/fs/cgroup" => {
            let of_all = ["nosuid", "noexec", "nodev", "rw", "relatime", "rslave"];
            *options = of_all.map(str::to_owned).to_vec();
        }
        _ => options.push("rw".to_owned()),
    }
}

/// The files that CRI-O makes for a pod. A pod with a network of its own has its `/etc/hosts` from the kubelet.
fn pod_files(sandbox: &Sandbox, pod_id: &str) -> Vec<Mount> {
    let bind = |destination: &str, source: String, further: &[&str]| Mount {
        destination: destination.to_owned(),
        r#type: "bind".to_owned(),
        source,
        options: ["rw", "bind"]
            .iter()
            .chain(further)
            .map(|it| (*it).to_owned())
            .collect(),
    };
    let file = |name: &str| format!("{RUN}/{pod_id}/userdata/{name}");
    let shm = if sandbox.namespaces.host_ipc {
        "/dev/shm".to_owned()
    } else {
        file("shm")
    };
    let environment = if sandbox.namespaces.pid == PidNamespace::Pod {
        format!("{STATE}/{pod_id}/userdata/.containerenv")
    } else {
        file(".containerenv")
    };
    let mut files = vec![
        bind("/dev/shm", shm, &[]),
        bind(
            "/etc/resolv.conf",
            file("resolv.conf"),
            &["nodev", "nosuid", "noexec"],
        ),
        bind("/etc/hostname", file("hostname"), &[]),
        bind("/run/.containerenv", environment, &[]),
    ];
    if sandbox.namespaces.host_network {
        files.push(bind("/etc/hosts", "/etc/hosts".to_owned(), &[]));
    }
    files
}
