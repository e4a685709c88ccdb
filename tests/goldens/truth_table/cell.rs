//! One combination, and what the plugin is given for it.

use std::fmt;

use fake_runtime::profile::Profile;
use nri_model::tree::{Node, Tree};
use nri_model::{CommandLine, Gate, Runtime, World};
use nri_proto::api::{
    CdiDevice, Container, LinuxContainer, LinuxDevice, LinuxDeviceCgroup, LinuxNamespace,
    LinuxResources, Mount, OptionalInt64, PodSandbox,
};

use super::dimensions::*;
use super::leaf::Leaf;
use crate::plugin;

/// The number of a value for each dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Cell(pub(crate) [u8; COUNT]);

impl Cell {
    /// The combination at a place in the full product.
    pub(crate) fn numbered(mut number: u64) -> Self {
        let mut cell = Self::default();
        for (value, dimension) in cell.0.iter_mut().zip(&DIMENSIONS).rev() {
            let values = dimension.values.len() as u64;
            *value = u8::try_from(number % values).unwrap();
            number /= values;
        }
        cell
    }

    /// The whole way from the command line to the answer.
    pub(crate) fn ask(&self) -> Leaf {
        let config = plugin::start(&self.command_line()).unwrap();
        let request = plugin::request(Some(&self.pod()), Some(&self.container()));
        Leaf::of(plugin::answer(&config, &self.world(), &request))
    }

    fn is(&self, dimension: usize, value: &str) -> bool {
        DIMENSIONS[dimension].values[usize::from(self.0[dimension])] == value
    }

    /// The runtime as far as the decision can tell.
    pub(crate) fn runtime(&self) -> Runtime {
        match DIMENSIONS[RUNTIME].values[usize::from(self.0[RUNTIME])] {
            "1.7" => Runtime::ContainerdBefore2_1,
            "2.1" => Runtime::Containerd2_1,
            _ => Runtime::Containerd2_2,
        }
    }

    /// How the process was started.
    pub(crate) fn command_line(&self) -> CommandLine {
        let mut arguments = Vec::new();
        if self.is(MODE, "cdi") {
            arguments.push("--device-injection-mode=cdi");
        }
        if self.is(NODE_NAME, "set") {
            arguments.push("--node-name=node-1");
        }
        if self.is(DAEMON_STAGING, "on") {
            arguments.push("--compute-domain-staging");
        }
        if self.is(REQUIRE_STAGED, "on") {
            arguments.push("--feature-gates=RequireStagedOverlay=true");
        }
        if !self.is(GATE, "off") {
            arguments.push("--agent-staged-url=http://127.0.0.1:9000/stagedz");
            arguments.push("--staging-lock-path=/run/nvml-mock/staging.lock");
        }
        CommandLine {
            arguments: arguments.into_iter().map(String::from).collect(),
            ..Default::default()
        }
    }

    /// The pod that the runtime asks about.
    pub(crate) fn pod(&self) -> PodSandbox {
        let mut pod = PodSandbox {
            name: "pod".into(),
            namespace: if self.is(NAMESPACE, "excluded") {
                "kube-system"
            } else {
                "default"
            }
            .into(),
            ..Default::default()
        };
        for (dimension, key) in [
            (OPT_OUT, "inject"),
            (DEVICES, "devices"),
            (INFINIBAND, "infiniband"),
            (IMEX, "imex-channels"),
        ] {
            let value = DIMENSIONS[dimension].values[usize::from(self.0[dimension])];
            if value != "absent" {
                pod.annotations
                    .insert(format!("nvml-mock.nvidia.com/{key}"), value.into());
            }
        }
        if self.is(DAEMON, "ComputeDomain daemon") {
            pod.labels.insert(
                "resource.nvidia.com/computeDomain".into(),
                "domain-1".into(),
            );
        }
        pod
    }

    /// The container that the runtime asks about.
    pub(crate) fn container(&self) -> Container {
        let daemon = self.is(DAEMON, "ComputeDomain daemon");
        let mut container = Container {
            name: if daemon {
                "compute-domain-daemon"
            } else {
                "main"
            }
            .into(),
            mounts: vec![mount("/proc", "proc")],
            ..Default::default()
        };
        let volume = match DIMENSIONS[VOLUME].values[usize::from(self.0[VOLUME])] {
            "at the overlay" => Some("/opt/nvml-mock"),
            "shared, above the overlay" => Some("/opt"),
            "below the overlay, without a place" => Some("/opt/nvml-mock/x"),
            "over its configuration" => Some("/opt/nvml-mock/driver/config"),
            _ => None,
        };
        container.mounts.extend(volume.map(|destination| Mount {
            options: vec!["rbind".into(), "rshared".into()],
            ..mount(destination, "bind")
        }));
        let env: &[&str] = match self.0[AUTHORED] {
            0 => &["HOME=/root"],
            1 => &[
                "PATH=/usr/bin:/bin",
                "LD_LIBRARY_PATH=",
                "LD_PRELOAD=/usr/lib/libown.so",
            ],
            _ => &[
                "MOCK_IB=partial",
                "MOCK_IB_ROOT=/own/ib",
                "MOCK_NVML_CONFIG=/own/config.yaml",
                "MOCK_NVML_VISIBLE_DEVICES=0",
                "MOCK_TOPOLOGY_CONFIG=/own/topology.yaml",
                "NODE_NAME=own",
            ],
        };
        container.env = env.iter().map(|item| (*item).to_owned()).collect();
        let cdi = |name: &str| vec![CdiDevice { name: name.into() }];
        let deny_all = LinuxDeviceCgroup {
            access: "rwm".into(),
            ..Default::default()
        };
        let (devices, rules) = match DIMENSIONS[ALLOCATION].values[usize::from(self.0[ALLOCATION])]
        {
            "raw device" => (
                vec![node("/dev/nvidia0", 195, 0)],
                vec![deny_all, grant(195, 0)],
            ),
            "privileged look-alike" => (
                vec![
                    node("/dev/null", 1, 3),
                    node("/dev/nvidia0", 195, 0),
                    node("/dev/nvidiactl", 195, 255),
                ],
                vec![LinuxDeviceCgroup {
                    allow: true,
                    ..deny_all
                }],
            ),
            "device plugin CDI" => {
                container.cdi_devices = cdi("k8s.device-plugin.nvidia.com/gpu=GPU-0");
                (vec![], vec![deny_all])
            }
            "DRA CDI" => {
                container.cdi_devices = cdi("k8s.gpu.nvidia.com/claim=uid-1");
                (vec![], vec![deny_all])
            }
            _ => (vec![], vec![deny_all]),
        };
        let namespaces = if self.is(USER_NAMESPACE, "yes") {
            &["mount", "user"][..]
        } else {
            &["mount"]
        };
        let namespaces = namespaces.iter().map(|kind| LinuxNamespace {
            r#type: (*kind).into(),
            ..Default::default()
        });
        container.linux = Some(LinuxContainer {
            namespaces: namespaces.collect(),
            devices,
            resources: Some(LinuxResources {
                devices: rules,
                ..Default::default()
            }),
            ..Default::default()
        });
        container
    }

    /// Everything else.
    pub(crate) fn world(&self) -> World {
        let mut tree = Tree::default();
        // The directories of an overlay are there before what the node agent stages into them.
        for directory in [
            "driver/dev/nvidia-caps-imex-channels",
            "driver/usr/bin",
            "topology",
            "ib/sys/class/infiniband/mlx5_0",
        ] {
            tree.add(&format!("/var/lib/nvml-mock/{directory}"), Node::Directory);
        }
        for (dimension, path) in STAGED {
            if self.0[dimension] == 0 {
                tree.add(path, staged(dimension, path));
            }
        }
        if self.is(CDI_STAGED, "stale") {
            tree.add(SPECIFICATION, Node::File);
        }
        World {
            tree,
            gate: if self.is(GATE, "closed") {
                Gate::Closed
            } else {
                Gate::Open
            },
            runtime: self.runtime(),
            nvidia_majors: Default::default(),
        }
    }

    /// The runtime that asks.
    pub(crate) fn profile(&self) -> &'static Profile {
        let version = DIMENSIONS[RUNTIME].values[usize::from(self.0[RUNTIME])];
        Profile::find(version).unwrap()
    }
}

/// What is not ordinary about it.
impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let odd = self
            .0
            .iter()
            .zip(&DIMENSIONS)
            .filter(|(value, _)| **value != 0);
        let odd: Vec<String> = odd
            .map(|(value, dimension)| {
                format!(
                    "{} = {}",
                    dimension.name,
                    dimension.values[usize::from(*value)]
                )
            })
            .collect();
        out.write_str(if odd.is_empty() {
            "everything ordinary"
        } else {
            ""
        })?;
        out.write_str(&odd.join(", "))
    }
}

/// What a dimension stages at a path.
fn staged(dimension: usize, path: &str) -> Node {
    match dimension {
        OVERLAY_STAGED => Node::Directory,
        GPUS_STAGED if path.ends_with("nvidiactl") => Node::character(195, 255),
        GPUS_STAGED => Node::character(195, 0),
        CHANNELS_STAGED => Node::character(234, 0),
        CDI_STAGED => plugin::specification(),
        _ => Node::File,
    }
}

fn mount(destination: &str, kind: &str) -> Mount {
    Mount {
        destination: destination.into(),
        r#type: kind.into(),
        source: kind.into(),
        options: vec![],
    }
}

fn node(path: &str, major: i64, minor: i64) -> LinuxDevice {
    LinuxDevice {
        path: path.into(),
        r#type: "c".into(),
        major,
        minor,
        ..Default::default()
    }
}

fn grant(major: i64, minor: i64) -> LinuxDeviceCgroup {
    LinuxDeviceCgroup {
        allow: true,
        r#type: "c".into(),
        major: Some(OptionalInt64 { value: major }),
        minor: Some(OptionalInt64 { value: minor }),
        access: "rwm".into(),
    }
}
