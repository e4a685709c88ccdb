//! The mounts of a container.

use nri_proto::api::Mount;

use crate::pod::cri::{self, Container, Sandbox};
use crate::pod::manifest::Propagation;

/// Where containerd keeps a pod's files that outlive a reboot, and those that don't.
const STATE: &str = "/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes";
const RUN: &str = "/run/containerd/io.containerd.grpc.v1.cri/sandboxes";

/// The file systems of every container, then the Pod's mounts and the files that containerd makes, shallow ones
/// first, so that none covers another. What the Pod mounts is not mounted a second time.
pub(super) fn of(sandbox: &Sandbox, container: &Container, pod_id: &str) -> Vec<Mount> {
    let taken = |path: &str| {
        container
            .mounts
            .iter()
            .any(|mount| mount.container_path == path)
    };
    let mut further: Vec<Mount> = container.mounts.iter().map(bind).collect();
    further.extend(
        pod_files(sandbox, container.readonly_root, pod_id)
            .into_iter()
            .filter(|mount| !taken(&mount.destination)),
    );
    further.sort_by_key(|mount| depth(&mount.destination));

    let mut mounts = file_systems(container.privileged);
    mounts.retain(|mount| {
        let covered = taken("/dev") && mount.destination.starts_with("/dev/");
        !covered && !taken(&mount.destination)
    });
    mounts.extend(further);
    mounts
}

pub(in crate::pod) fn file_systems(privileged: bool) -> Vec<Mount> {
    let access = if privileged { "rw" } else { "ro" };
    let mount = |destination: &str, kind: &str, source: &str, options: &[&str]| Mount {
        destination: destination.to_owned(),
        r#type: kind.to_owned(),
        source: source.to_owned(),
        options: options.iter().map(|option| (*option).to_owned()).collect(),
    };
    let pts = [
        "nosuid",
        "noexec",
        "newinstance",
        "ptmxmode=0666",
        "mode=0620",
        "gid=5",
    ];
    vec![
        mount("/proc", "proc", "proc", &["nosuid", "noexec", "nodev"]),
        mount(
            "/dev",
            "tmpfs",
            "tmpfs",
            &["nosuid", "strictatime", "mode=755", "size=65536k"],
        ),
        mount("/dev/pts", "devpts", "devpts", &pts),
        mount(
            "/dev/mqueue",
            "mqueue",
            "mqueue",
            &["nosuid", "noexec", "nodev"],
        ),
        mount(
            "/sys",
            "sysfs",
            "sysfs",
            &["nosuid", "noexec", "nodev", access],
        ),
        mount(
            "/sys/fs/cgroup",
            "cgroup",
            "cgroup",
            &["nosuid", "noexec", "nodev", "relatime", access],
        ),
    ]
}

/// The files that containerd makes for a pod.
fn pod_files(sandbox: &Sandbox, readonly: bool, pod_id: &str) -> Vec<Mount> {
    let file = |container_path: &str, host_path: String, readonly| {
        let container_path = container_path.to_owned();
        bind(&cri::Mount {
            container_path,
            host_path,
            readonly,
            ..Default::default()
        })
    };
    let shm = if sandbox.namespaces.host_ipc {
        "/dev/shm".to_owned()
    } else {
        format!("{RUN}/{pod_id}/shm")
    };
    vec![
        file(
            "/etc/hostname",
            format!("{STATE}/{pod_id}/hostname"),
            readonly,
        ),
        file("/etc/hosts", format!("{STATE}/{pod_id}/hosts"), readonly),
        file(
            "/etc/resolv.conf",
            format!("{STATE}/{pod_id}/resolv.conf"),
            readonly,
        ),
        file("/dev/shm", shm, false),
    ]
}

pub(in crate::pod) fn bind(mount: &cri::Mount) -> Mount {
    let propagation = match mount.propagation {
        Propagation::None => "rprivate",
        Propagation::HostToContainer => "rslave",
        Propagation::Bidirectional => "rshared",
    };
    let access = if mount.readonly { "ro" } else { "rw" };
    Mount {
        destination: mount.container_path.clone(),
        r#type: "bind".to_owned(),
        source: mount.host_path.clone(),
        options: ["rbind", propagation, access].map(str::to_owned).to_vec(),
    }
}

fn depth(path: &str) -> usize {
    path.split('/')
        .filter(|component| !component.is_empty())
        .count()
}
