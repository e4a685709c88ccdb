//! What is measured, and what is to come of it.

use std::fs::File;
use std::path::{Path, PathBuf};

use fake_runtime::api::{CreateContainerRequest, Mount};
use fake_runtime::cli::Result;
use fake_runtime::nvidia;
use fake_runtime::pod::{Simulation, manifest, requests};
use fake_runtime::tree::{Entry, Kind, make_tree};
use mock_node::staging::{Devices, NodeAgent, Overlay, StagedAnswer};
use serde::Serialize;
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How a container comes by its mock GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Surface {
    /// Its pod opts in, and it is given nodes.
    Raw,
    /// Its pod opts in, and it is given a CDI name.
    Cdi,
    /// It holds a GPU.
    Allocated,
    /// Its pod opts in to InfiniBand.
    Infiniband,
    /// Not at all.
    Skipped,
    /// As raw, behind a staging gate that is open.
    Gated,
}

/// How much the runtime tells of the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Size {
    /// A name.
    Small,
    /// What a kubelet and containerd say of an ordinary one.
    Ordinary,
    /// The same with a thousand variables and a thousand mounts.
    Large,
}

/// One row of the table.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) surface: Surface,
    pub(super) size: Size,
    /// How many device nodes are staged.
    pub(super) nodes: u32,
    /// Whether the floor makes the plugin's file system calls.
    pub(super) looks: bool,
    /// Whether all run on one core.
    pub(super) pinned: bool,
    pub(super) gap_ms: u64,
    /// In each round.
    pub(super) requests: u32,
    /// How many times the floor it may take.
    pub(super) goal: Option<f64>,
}

const RAW: Case = Case {
    name: "raw",
    surface: Surface::Raw,
    size: Size::Ordinary,
    nodes: 10,
    looks: true,
    pinned: true,
    gap_ms: 0,
    requests: 500,
    goal: None,
};

/// The case from which the totals are taken.
pub(super) const MAIN: &str = RAW.name;

pub(super) fn all() -> Vec<Case> {
    let echo = |name, surface| Case {
        name,
        surface,
        looks: false,
        ..RAW
    };
    let staged = |name, nodes, requests| Case {
        name,
        nodes,
        requests,
        ..RAW
    };
    let goal = |goal, case| Case {
        goal: Some(goal),
        ..case
    };
    let spaced = Case {
        name: "raw, 2 ms apart",
        gap_ms: 2,
        requests: 60,
        ..RAW
    };
    vec![
        goal(1.3, RAW),
        goal(1.3, spaced),
        Case {
            name: "raw, on all cores",
            pinned: false,
            ..RAW
        },
        Case {
            name: "raw, small request",
            size: Size::Small,
            ..RAW
        },
        Case {
            name: "raw, large request",
            size: Size::Large,
            requests: 100,
            ..RAW
        },
        staged("raw, 1 node", 1, 500),
        staged("raw, 100 nodes", 100, 150),
        goal(1.2, staged("raw, 1,000 nodes", 1000, 20)),
        goal(2.6, echo("cdi", Surface::Cdi)),
        goal(2.6, echo("allocated", Surface::Allocated)),
        echo("infiniband", Surface::Infiniband),
        goal(1.6, echo("skipped", Surface::Skipped)),
        echo("gate open", Surface::Gated),
    ]
}

/// A node to measure a case on.
pub(super) struct Node {
    /// The plugin's.
    pub(super) flags: Vec<String>,
    pub(super) request: CreateContainerRequest,
    /// The floor's.
    pub(super) calls: Vec<PathBuf>,
    _agent: Option<(Runtime, NodeAgent)>,
    _directory: TempDir,
}

impl Node {
    pub(super) fn stage(case: &Case) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let root = directory.path().join("overlay");
        let devices = Devices::as_permitted();
        let overlay = Overlay {
            gpus: 0,
            control_nodes: false,
            imex_channels: 0,
            ..Overlay::default()
        };
        overlay.stage(&root, devices)?;
        let names: Vec<_> = (0..case.nodes)
            .map(|node| format!("driver/dev/nvidia{node}"))
            .collect();
        let nodes = names.iter().zip(0..).map(|(name, minor)| {
            let kind = match devices {
                Devices::Nodes => Kind::Char {
                    major: nvidia::MAJOR,
                    minor,
                },
                Devices::Links => Kind::Symlink {
                    target: "/dev/null".into(),
                },
            };
            Entry::new(name, kind)
        });
        make_tree(&root, &nodes.collect::<Vec<_>>())?;

        let mut flags: Vec<String> = Overlay::plugin_flags(&root).into();
        flags.extend(["--health-addr=".into(), "--node-name=node-1".into()]);
        if case.surface == Surface::Cdi {
            flags.push("--device-injection-mode=cdi".into());
        }
        let mut agent = None;
        if case.surface == Surface::Gated {
            let started = start_agent()?;
            let lock = directory.path().join("staging.lock");
            File::create(&lock)?;
            flags.push(format!("--agent-staged-url={}/stagedz", started.1.url()));
            flags.push(format!("--staging-lock-path={}", lock.display()));
            agent = Some(started);
        }
        Ok(Self {
            flags,
            request: request(case)?,
            calls: if case.looks {
                calls(&root, &names)
            } else {
                Vec::new()
            },
            _agent: agent,
            _directory: directory,
        })
    }
}

fn start_agent() -> Result<(Runtime, NodeAgent)> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let agent = runtime.block_on(NodeAgent::start(StagedAnswer::status(200)))?;
    Ok((runtime, agent))
}

/// What the plugin cannot do without: that the sources of its mounts and the topology document are there, and which
/// nodes there are, and each of them.
fn calls(root: &Path, nodes: &[String]) -> Vec<PathBuf> {
    let looked_at = ["", "driver/config", "topology/topology.yaml", "driver/dev/"];
    let looked_at = looked_at
        .into_iter()
        .chain(nodes.iter().map(String::as_str));
    let root = root.display();
    looked_at
        .map(|path| match path {
            "" => root.to_string().into(),
            path => format!("{root}/{path}").into(),
        })
        .collect()
}

fn request(case: &Case) -> Result<CreateContainerRequest> {
    let (annotation, limit) = match case.surface {
        Surface::Raw | Surface::Cdi | Surface::Gated => {
            ("nvml-mock.nvidia.com/devices: 'true'", "")
        }
        Surface::Infiniband => ("nvml-mock.nvidia.com/infiniband: 'true'", ""),
        Surface::Allocated => ("", ", nvidia.com/gpu: 1"),
        Surface::Skipped => ("", ""),
    };
    let pod = format!(
        "{{kind: Pod, metadata: {{name: bench-7c5b8d9f4-x2x5q, \
         labels: {{app: bench, pod-template-hash: 7c5b8d9f4}}, annotations: {{{annotation}}}}}, \
         spec: {{nodeName: node-1, containers: [{{name: main, image: registry.example/bench:1, \
         command: [/usr/bin/bench, '--listen=0.0.0.0:8000'], \
         env: [{{name: LOG_LEVEL, value: info}}, {{name: HOME, value: /root}}], \
         resources: {{limits: {{cpu: 2, memory: 4Gi{limit}}}}}}}]}}}}"
    );
    let simulation = Simulation {
        image_env: vec!["PATH=/usr/local/bin:/usr/bin:/bin".to_owned()],
        ..Simulation::default()
    };
    let all = requests(&manifest::parse(&pod)?[0], &simulation)?;
    let mut request = all.into_iter().next().ok_or("the Pod has a container")?;
    let (Some(pod), Some(container)) = (&mut request.pod, &mut request.container) else {
        return Err("a request has a pod and a container".into());
    };
    match case.size {
        Size::Ordinary => {}
        Size::Small => {
            pod.labels.clear();
            pod.linux = None;
            container.labels.clear();
            container.annotations.clear();
            container.env.clear();
            container.mounts.clear();
            container.linux = None;
        }
        Size::Large => {
            let numbers = 0..1000;
            container.env.extend(
                numbers
                    .clone()
                    .map(|it| format!("SOME_VARIABLE_{it}=a value of it")),
            );
            container.mounts.extend(numbers.map(|it| Mount {
                source: format!("/var/lib/somewhere/{it}"),
                destination: format!("/mnt/volume/{it}"),
                r#type: "bind".to_owned(),
                options: ["rbind", "rprivate", "ro"].map(str::to_owned).into(),
            }));
        }
    }
    Ok(request)
}
