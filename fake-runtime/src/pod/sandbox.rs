//! The pod of a request: its sandbox.

use nri_proto::api::{
    LinuxCpu, LinuxDeviceCgroup, LinuxNamespace, LinuxPodSandbox, LinuxResources, OptionalUInt64,
    PodSandbox,
};

use super::manifest::Pod;
use super::resources::Quality;
use crate::profile::Profile;

/// The pause container's process. Nobody looks it up.
const PID: u32 = 4242;
/// What containerd gives a pause container.
const PAUSE_CPU_SHARES: u64 = 2;

/// A pod's sandbox, and what its containers need to know of it.
pub(super) struct Sandbox {
    pub(super) message: PodSandbox,
    /// The control group below which its containers are.
    pub(super) cgroup: String,
}

impl Sandbox {
    pub(super) fn of(pod: &Pod, profile: &Profile) -> Self {
        let metadata = &pod.metadata;
        let id = made_up_id(&[&metadata.namespace, &metadata.name]);
        let uid = if metadata.uid.is_empty() {
            made_up_uid(&id)
        } else {
            metadata.uid.clone()
        };
        let cgroup = Quality::of(&pod.spec).cgroup(&uid);
        let (namespace, name) = (&metadata.namespace, &metadata.name);

        let mut labels = metadata.labels.clone();
        labels.extend(
            [
                ("io.cri-containerd.kind", "sandbox"),
                ("io.kubernetes.pod.name", name),
                ("io.kubernetes.pod.namespace", namespace),
                ("io.kubernetes.pod.uid", &uid),
            ]
            .map(owned),
        );
        if profile.requests.runtime_type_label {
            labels.extend([("oci_runtime_type", "io.containerd.runc.v2")].map(owned));
        }

        let log_directory = format!("/var/log/pods/{namespace}_{name}_{uid}");
        let mut annotations = metadata.annotations.clone();
        annotations.extend(
            [
                ("io.kubernetes.cri.container-type", "sandbox"),
                ("io.kubernetes.cri.sandbox-id", &id),
                ("io.kubernetes.cri.sandbox-log-directory", &log_directory),
                ("io.kubernetes.cri.sandbox-name", name),
                ("io.kubernetes.cri.sandbox-namespace", namespace),
                ("io.kubernetes.cri.sandbox-uid", &uid),
            ]
            .map(owned),
        );
        if profile.requests.sandbox_image_annotation {
            let pause = (
                "io.kubernetes.cri.podsandbox.image-name",
                "registry.k8s.io/pause:3.10",
            );
            annotations.extend([pause].map(owned));
        }

        let message = PodSandbox {
            linux: Some(linux(pod, &cgroup, &id)),
            name: name.clone(),
            namespace: namespace.clone(),
            pid: PID,
            uid,
            labels,
            annotations,
            id,
            ..PodSandbox::default()
        };
        Self { message, cgroup }
    }
}

fn linux(pod: &Pod, cgroup: &str, id: &str) -> LinuxPodSandbox {
    // The pause container's own; those that it shares with the node are not listed.
    let namespaces = [
        ("pid", pod.spec.host_pid),
        ("ipc", pod.spec.host_ipc),
        ("mount", false),
    ];
    let own = namespaces.into_iter().filter(|(_, shared)| !shared);
    LinuxPodSandbox {
        cgroup_parent: cgroup.to_owned(),
        cgroups_path: format!("{cgroup}/{id}"),
        namespaces: own.map(|(kind, _)| namespace(kind, "")).collect(),
        resources: Some(LinuxResources {
            cpu: Some(LinuxCpu {
                shares: Some(OptionalUInt64 {
                    value: PAUSE_CPU_SHARES,
                }),
                ..LinuxCpu::default()
            }),
            devices: vec![deny_all()],
            ..LinuxResources::default()
        }),
        ..LinuxPodSandbox::default()
    }
}

pub(super) fn namespace(kind: &str, path: &str) -> LinuxNamespace {
    LinuxNamespace {
        r#type: kind.to_owned(),
        path: path.to_owned(),
    }
}

/// A namespace that a container shares with the sandbox.
pub(super) fn sandbox_namespace(kind: &str, file: &str) -> LinuxNamespace {
    namespace(kind, &format!("/proc/{PID}/ns/{file}"))
}

pub(super) fn deny_all() -> LinuxDeviceCgroup {
    LinuxDeviceCgroup {
        access: "rwm".to_owned(),
        ..LinuxDeviceCgroup::default()
    }
}

pub(super) fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

/// 64 hexadecimal digits, as containerd's ids have, made of `parts` alone.
pub(super) fn made_up_id(parts: &[&str]) -> String {
    (0..4u64)
        .map(|word| format!("{:016x}", fnv(word, parts)))
        .collect()
}

fn made_up_uid(id: &str) -> String {
    format!(
        "{}-{}-{}-{}-{}",
        &id[..8],
        &id[8..12],
        &id[12..16],
        &id[16..20],
        &id[20..32]
    )
}

/// The hash FNV-1a of the parts, each closed by a byte that no name has.
fn fnv(seed: u64, parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    bytes.fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
