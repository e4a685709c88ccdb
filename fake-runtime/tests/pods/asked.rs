//! What the runtime was asked for over CRI when the recordings were made, by the container's name.

use std::collections::BTreeMap;

use fake_runtime::pod::cri::{
    Container, Device, Mount, Namespaces, PidNamespace, Resources, Sandbox, User,
};
use fake_runtime::pod::manifest::{Propagation, SeccompProfile, SeccompType};

/// The pod and the container.
pub(crate) fn for_container(name: &str) -> (Sandbox, Container) {
    let plain = plain(name);
    let sandbox = || sandbox("pod-plain");
    match name {
        "plain" => (sandbox(), plain),
        "image-cmd" => (
            sandbox(),
            Container {
                args: strings(&["/bin/sh"]),
                ..plain
            },
        ),
        "argv" => (
            sandbox(),
            Container {
                args: strings(&["/bin/sh", "-c", "echo \"$A $B\"; sleep 1000000", "x y"]),
                env: env(&[("A", "1")]),
                tty: true,
                ..plain
            },
        ),
        "env-forms" => (
            sandbox(),
            Container {
                env: env(&ENV_FORMS),
                ..plain
            },
        ),
        "mounts" => (
            sandbox(),
            Container {
                mounts: mounts(),
                ..plain
            },
        ),
        "cri-device-rwm" => (
            sandbox(),
            Container {
                devices: vec![device("/dev/nvidia0", 1, 3, "rwm")],
                ..plain
            },
        ),
        "cri-device-r" => {
            let devices = vec![
                device("/dev/nvidia0", 195, 0, "rwm"),
                device("/dev/nvidiactl", 195, 255, "r"),
            ];
            (sandbox(), Container { devices, ..plain })
        }
        "cri-cdi" => (
            sandbox(),
            Container {
                cdi_devices: strings(&["nvidia.com/gpu=0"]),
                ..plain
            },
        ),
        "cri-cdi-two" => {
            let cdi_devices = strings(&["nvidia.com/gpu=0", "nvml-mock.nvidia.com/gpu=all"]);
            (
                sandbox(),
                Container {
                    cdi_devices,
                    ..plain
                },
            )
        }
        "cri-cdi-annotation" => {
            let annotations = map(&[("cdi.k8s.io/plugin_0", "nvidia.com/gpu=1")]);
            (
                sandbox(),
                Container {
                    annotations,
                    ..plain
                },
            )
        }
        "ann-main" => annotated(plain),
        "privileged" | "privileged-mounts" | "unprivileged-in-privileged-pod" => {
            privileged(name, plain)
        }
        "resources" | "user" | "username" => limited(name, plain),
        "hostipc-hostpid" => {
            let namespaces = Namespaces {
                host_network: true,
                host_ipc: true,
                pid: PidNamespace::Node,
                ..Default::default()
            };
            (
                Sandbox {
                    namespaces,
                    ..self::sandbox("pod-hostns")
                },
                plain,
            )
        }
        "init" => (
            multi(),
            Container {
                args: strings(&["/bin/true"]),
                ..plain
            },
        ),
        "app" => (multi(), plain),
        "sidecar" => (
            multi(),
            Container {
                env: env(&[("LD_LIBRARY_PATH", "/usr/lib")]),
                ..plain
            },
        ),
        "sharedpid" => {
            let namespaces = Namespaces {
                host_network: true,
                pid: PidNamespace::Pod,
                ..Default::default()
            };
            (
                Sandbox {
                    namespaces,
                    ..self::sandbox("pod-sharedpid")
                },
                plain,
            )
        }
        "rlimits-hooks" => {
            let runtime_handler = "alt".to_owned();
            (
                Sandbox {
                    runtime_handler,
                    ..self::sandbox("pod-alt-handler")
                },
                plain,
            )
        }
        _ => panic!("nobody knows what {name} was asked for with"),
    }
}

const ENV_FORMS: [(&str, &str); 10] = [
    ("PATH", "/custom:/bin"),
    ("EMPTY", ""),
    ("EQ", "a=b=c"),
    ("NL", "l1\nl2"),
    ("DUP", "1"),
    ("DUP", "2"),
    ("FROM_IMAGE", "no"),
    ("UTF", "é✓"),
    ("LD_PRELOAD", "/lib/x.so"),
    ("A.B-C", "odd key"),
];

/// Every pod of the recordings shares the node's network.
fn sandbox(name: &str) -> Sandbox {
    Sandbox {
        name: name.to_owned(),
        namespace: "default".to_owned(),
        uid: format!("uid-{name}"),
        log_directory: format!("/var/log/pods/{name}"),
        namespaces: Namespaces {
            host_network: true,
            ..Default::default()
        },
        ..Default::default()
    }
}

fn plain(name: &str) -> Container {
    Container {
        name: name.to_owned(),
        image: "localhost/busybox:e2e".to_owned(),
        args: strings(&["/bin/sleep", "1000000"]),
        ..Default::default()
    }
}

fn annotated(plain: Container) -> (Sandbox, Container) {
    let uid = "11111111-2222-3333-4444-555555555555";
    let sandbox = Sandbox {
        uid: uid.to_owned(),
        labels: map(&[
            ("app", "gpu-agent"),
            ("io.kubernetes.pod.name", "pod-annotated"),
            ("io.kubernetes.pod.namespace", "default"),
            ("io.kubernetes.pod.uid", uid),
        ]),
        annotations: map(&[
            ("kubernetes.io/config.source", "api"),
            ("nvml-mock.nvidia.com/devices", "true"),
            ("nvml-mock.nvidia.com/imex-channels", "true"),
            ("nvml-mock.nvidia.com/inject", "TRUE"),
        ]),
        ..sandbox("pod-annotated")
    };
    let container = Container {
        labels: map(&[
            ("io.kubernetes.container.name", "ann-main"),
            ("io.kubernetes.pod.name", "pod-annotated"),
            ("io.kubernetes.pod.namespace", "default"),
            ("tier", "x"),
        ]),
        annotations: map(&[
            ("io.kubernetes.container.hash", "deadbeef"),
            ("io.kubernetes.container.restartCount", "0"),
            ("note", "container annotation"),
        ]),
        ..plain
    };
    (sandbox, container)
}

fn privileged(name: &str, plain: Container) -> (Sandbox, Container) {
    let mounts = vec![
        mount("/host-dev", "/dev", false, Propagation::Bidirectional),
        mount("/run/nri", "/var/lib/e2e/data", false, Propagation::None),
    ];
    let container = Container {
        privileged: name != "unprivileged-in-privileged-pod",
        mounts: if name == "privileged-mounts" {
            mounts
        } else {
            Vec::new()
        },
        ..plain
    };
    (sandbox("pod-privileged"), container)
}

fn limited(name: &str, plain: Container) -> (Sandbox, Container) {
    let sandbox = Sandbox {
        cgroup_parent: "/kubepods/burstable/pod44444444-0000-0000-0000-000000000004".to_owned(),
        resources: Some(Resources {
            cpu_shares: 512,
            memory_limit: 256 << 20,
            ..Default::default()
        }),
        ..sandbox("pod-resources")
    };
    let user = |groups: &[u32]| User {
        uid: 1000,
        gid: 1000,
        groups: groups.to_vec(),
    };
    let container = match name {
        "user" => Container {
            user: user(&[2000, 3000]),
            readonly_root: true,
            seccomp: Some(SeccompProfile {
                kind: SeccompType::RuntimeDefault,
                ..Default::default()
            }),
            ..plain
        },
        "username" => Container {
            user: user(&[]),
            ..plain
        },
        _ => Container {
            resources: Resources {
                cpu_shares: 512,
                cpu_quota: 50_000,
                cpu_period: 100_000,
                cpus: "0-1".to_owned(),
                mems: "0".to_owned(),
                memory_limit: 128 << 20,
                oom_score_adj: Some(999),
            },
            ..plain
        },
    };
    (sandbox, container)
}

fn multi() -> Sandbox {
    Sandbox {
        namespace: "kube-system".to_owned(),
        uid: "66666666-0000-0000-0000-000000000006".to_owned(),
        labels: map(&[("k8s-app", "multi")]),
        annotations: map(&[("nvml-mock.nvidia.com/devices", "true")]),
        ..sandbox("pod-multi")
    }
}

fn mounts() -> Vec<Mount> {
    let data = "/var/lib/e2e/data";
    vec![
        mount("/data", data, false, Propagation::None),
        mount("/data-ro", data, true, Propagation::None),
        mount("/data-slave", data, false, Propagation::HostToContainer),
        mount("/data-selinux", data, false, Propagation::None),
        mount(
            "/opt/nvml-mock",
            "/var/lib/e2e/overlay",
            true,
            Propagation::None,
        ),
    ]
}

fn mount(container_path: &str, host_path: &str, readonly: bool, propagation: Propagation) -> Mount {
    Mount {
        container_path: container_path.to_owned(),
        host_path: host_path.to_owned(),
        readonly,
        propagation,
        ..Default::default()
    }
}

fn device(path: &str, major: i64, minor: i64, permissions: &str) -> Device {
    Device {
        path: path.to_owned(),
        kind: "c".to_owned(),
        major,
        minor,
        mode: 0o666,
        uid: 0,
        gid: 0,
        permissions: permissions.to_owned(),
    }
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    env(pairs).into_iter().collect()
}
