//! The mounts of a container.

use nri_proto::api::Mount;
use path_clean::clean;

use super::paths::{RUN, STATE};
use crate::pod::cri::{self, Container, Sandbox};
use crate::pod::identifier::identifier;
use crate::pod::image::Image;
use crate::pod::manifest::Propagation;
use crate::pod::node::Node;

/// The file systems of every container, then the Pod's mounts, the files that containerd makes and the volumes of the
/// image, shallow ones first, so that none covers another. What the Pod mounts is not mounted a second time.
pub(super) fn of(
    node: &Node,
    sandbox: &Sandbox,
    container: &Container,
    image: &Image,
    pod_id: &str,
    id: &str,
) -> Vec<Mount> {
    let taken: Vec<String> = container
        .mounts
        .iter()
        .map(|mount| cleaned(&mount.container_path))
        .collect();
    let taken = |path: &str| taken.contains(&cleaned(path));
    let asked = container.mounts.iter();
    let mut further: Vec<Mount> = asked
        .map(|mount| match mount.image.as_str() {
            "" => bind(&cri::Mount {
                host_path: resolved(node, &mount.host_path),
                ..mount.clone()
            }),
            image => bind(&cri::Mount {
                host_path: image_volume(node, image, pod_id),
                ..mount.clone()
            }),
        })
        .collect();
    let own = pod_files(sandbox, container.readonly_root, pod_id);
    let own = own.into_iter().chain(image_volumes(image, id));
    further.extend(own.filter(|mount| !taken(&mount.destination)));
    further.sort_by_key(|mount| depth(&mount.destination));

    let mut mounts = file_systems(container.privileged);
    mounts.retain(|mount| {
        let covered = taken("/dev") && mount.destination.starts_with("/dev/");
        !covered && !taken(&mount.destination)
    });
    mounts.extend(further);
    mounts
}

/// Where a path of the node leads.
fn resolved(node: &Node, path: &str) -> String {
    node.links.get(path).map_or(path, String::as_str).to_owned()
}

/// Where an image is that is mounted as a volume. One that is already somewhere stays there.
fn image_volume(node: &Node, image: &str, pod_id: &str) -> String {
    let digest = node.images.digest(image);
    let digest = digest.unwrap_or_else(|| identifier(&["image", image]));
    format!("{RUN}/image-volumes/{pod_id}/{digest}")
}

/// The volumes that an image asks for, each a directory of its own.
fn image_volumes(image: &Image, id: &str) -> impl Iterator<Item = Mount> {
    let volume = move |path: &String| {
        bind(&cri::Mount {
            container_path: path.clone(),
            host_path: format!(
                "{STATE}/containers/{id}/volumes/{}",
                identifier(&[id, path])
            ),
            ..Default::default()
        })
    };
    image.volumes.iter().map(volume)
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
        format!("{RUN}/sandboxes/{pod_id}/shm")
    };
    vec![
        file(
            "/etc/hostname",
            format!("{STATE}/sandboxes/{pod_id}/hostname"),
            readonly,
        ),
        file(
            "/etc/hosts",
            format!("{STATE}/sandboxes/{pod_id}/hosts"),
            readonly,
        ),
        file(
            "/etc/resolv.conf",
            format!("{STATE}/sandboxes/{pod_id}/resolv.conf"),
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
    let access = match (mount.readonly, mount.recursive_read_only) {
        (_, true) => "rro",
        (true, false) => "ro",
        (false, false) => "rw",
    };
    Mount {
        destination: mount.container_path.clone(),
        r#type: "bind".to_owned(),
        source: mount.host_path.clone(),
        options: ["rbind", propagation, access].map(str::to_owned).to_vec(),
    }
}

fn depth(path: &str) -> usize {
    let components = cleaned(path);
    components.split('/').filter(|it| !it.is_empty()).count()
}

fn cleaned(path: &str) -> String {
    clean(path).to_string_lossy().into_owned()
}
