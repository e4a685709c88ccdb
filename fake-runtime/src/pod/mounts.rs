//! What is mounted in a container before any plugin.

use nri_proto::api::Mount;

use super::manifest::{Pod, PodContainer, VolumeMount};

/// Everything, in containerd's order: what each container has, what the manifest asks for, what the sandbox lends.
pub(super) fn mounts(pod: &Pod, container: &PodContainer, sandbox: &str, uid: &str) -> Vec<Mount> {
    let privileged = container.security_context.privileged == Some(true);
    let mut mounts = every_container(if privileged { "rw" } else { "ro" });
    mounts.extend(
        container
            .volume_mounts
            .iter()
            .map(|mount| volume(pod, mount, uid)),
    );
    let read_only = container.security_context.read_only_root_filesystem == Some(true);
    let lent = lent(pod, sandbox, if read_only { "ro" } else { "rw" });
    // The manifest's own mount of such a file takes its place.
    let free = |mount: &Mount| {
        mounts
            .iter()
            .all(|other| other.destination != mount.destination)
    };
    let lent: Vec<_> = lent.into_iter().filter(free).collect();
    mounts.extend(lent);
    mounts
}

fn every_container(sys: &str) -> Vec<Mount> {
    vec![
        mount("/proc", "proc", "proc", "nosuid noexec nodev"),
        mount(
            "/dev",
            "tmpfs",
            "tmpfs",
            "nosuid strictatime mode=755 size=65536k",
        ),
        mount(
            "/dev/pts",
            "devpts",
            "devpts",
            "nosuid noexec newinstance ptmxmode=0666 mode=0620 gid=5",
        ),
        mount("/dev/mqueue", "mqueue", "mqueue", "nosuid noexec nodev"),
        mount(
            "/sys",
            "sysfs",
            "sysfs",
            &format!("nosuid noexec nodev {sys}"),
        ),
        mount(
            "/sys/fs/cgroup",
            "cgroup",
            "cgroup",
            &format!("nosuid noexec nodev relatime {sys}"),
        ),
    ]
}

fn lent(pod: &Pod, sandbox: &str, access: &str) -> Vec<Mount> {
    let root = format!("/var/lib/containerd/io.containerd.grpc.v1.cri/sandboxes/{sandbox}");
    let state = format!("/run/containerd/io.containerd.grpc.v1.cri/sandboxes/{sandbox}");
    let options = format!("rbind rprivate {access}");
    let shm = if pod.spec.host_ipc {
        "/dev/shm".to_owned()
    } else {
        format!("{state}/shm")
    };
    vec![
        mount(
            "/etc/hostname",
            "bind",
            &format!("{root}/hostname"),
            &options,
        ),
        mount("/etc/hosts", "bind", &format!("{root}/hosts"), &options),
        mount(
            "/etc/resolv.conf",
            "bind",
            &format!("{root}/resolv.conf"),
            &options,
        ),
        mount("/dev/shm", "bind", &shm, "rbind rprivate rw"),
    ]
}

fn volume(pod: &Pod, asked: &VolumeMount, uid: &str) -> Mount {
    let volume = pod
        .spec
        .volumes
        .iter()
        .find(|volume| volume.name == asked.name);
    let host_path = volume.and_then(|volume| volume.host_path.as_ref());
    let source = host_path.map_or_else(
        || format!("/var/lib/kubelet/pods/{uid}/volumes/{}", asked.name),
        |host| host.path.clone(),
    );
    let source = if asked.sub_path.is_empty() {
        source
    } else {
        format!("{source}/{}", asked.sub_path)
    };
    let propagation = match asked.mount_propagation.as_deref() {
        Some("HostToContainer") => "rslave",
        Some("Bidirectional") => "rshared",
        _ => "rprivate",
    };
    let access = if asked.read_only { "ro" } else { "rw" };
    mount(
        &asked.mount_path,
        "bind",
        &source,
        &format!("rbind {propagation} {access}"),
    )
}

fn mount(destination: &str, kind: &str, source: &str, options: &str) -> Mount {
    Mount {
        destination: destination.to_owned(),
        r#type: kind.to_owned(),
        source: source.to_owned(),
        options: options.split(' ').map(ToOwned::to_owned).collect(),
    }
}
