//! The model reproduces every recorded case.

#![expect(
    clippy::unwrap_used,
    reason = "a case that cannot be read fails the test"
)]

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use nri_model::cdi::{Specification, SpecifiedNode};
use nri_model::tree::{Device, Node};
use nri_model::{Answer, CommandLine, Gate, Tree, World, answer};
use nri_proto::api::{Container, ContainerAdjustment, PodSandbox};
use serde::Deserialize;
use serde_json::Value;

/// Where the model's cases have their `$ROOT`.
const ROOT: &str = "/case";
/// Where they have their `$AGENT`.
const AGENT: &str = "http://127.0.0.1:40404";

/// The cases whose recorded answer is older than the description, which wins.
const DESCRIPTION_WINS: [(&str, &str); 1] = [(
    "opt-out/0087",
    "`fal\u{17f}e` is no `false`, since only ASCII case is folded: the same answer for another reason",
)];

#[derive(Deserialize)]
struct Case {
    id: String,
    flags: Vec<String>,
    #[serde(default)]
    process_env: std::collections::BTreeMap<String, String>,
    tree: Vec<Staged>,
    pod: Option<PodSandbox>,
    container: Option<Value>,
    agent: Option<Agent>,
    lock: Option<Lock>,
    reason: Option<String>,
    expect: Value,
}

#[derive(Deserialize)]
struct Staged {
    path: String,
    kind: String,
    #[serde(default)]
    major: u32,
    #[serde(default)]
    minor: u32,
    mode: Option<String>,
    #[serde(default)]
    uid: u32,
    #[serde(default)]
    gid: u32,
    target: Option<String>,
    #[serde(default)]
    content: String,
}

#[derive(Deserialize)]
struct Agent {
    status: u16,
    #[serde(default)]
    delay_ms: u64,
}

#[derive(Deserialize)]
struct Lock {
    path: String,
    hold: String,
}

impl Case {
    fn command_line(&self) -> CommandLine {
        CommandLine {
            arguments: self.flags.iter().map(|flag| rooted(flag)).collect(),
            environment: self
                .process_env
                .iter()
                .map(|(k, v)| (k.clone(), rooted(v)))
                .collect(),
        }
    }

    fn world(&self) -> World {
        let mut tree = Tree::default();
        for staged in &self.tree {
            tree.add(&format!("{ROOT}/{}", staged.path), staged.node());
        }
        if let Some(lock) = &self.lock {
            tree.add(&format!("{ROOT}/{}", lock.path), Node::File);
        }
        World {
            gate: self.gate(&tree),
            tree,
            ..World::default()
        }
    }

    fn gate(&self, tree: &Tree) -> Gate {
        let flag = |name: &str| {
            self.flags
                .iter()
                .rev()
                .find_map(|flag| flag.strip_prefix(name))
        };
        let path =
            nri_model::clean::clean(&rooted(flag("--staging-lock-path=").unwrap_or_default()));
        let held = self.lock.as_ref().is_some_and(|lock| {
            lock.hold == "exclusive" && format!("{ROOT}/{}", lock.path) == path
        });
        let staged = self.agent.as_ref().is_some_and(|agent| {
            flag("--agent-staged-url=") == Some("$AGENT/stagedz")
                && agent.status == 200
                && agent.delay_ms < 500
        });
        if tree.exists(&path) && !held && staged {
            Gate::Open
        } else {
            Gate::Closed
        }
    }

    /// What is wrong with the model's answer, if anything.
    fn complaint(&self) -> Option<String> {
        let outcome = answer(
            &self.command_line(),
            &self.world(),
            self.pod.as_ref(),
            self.container().as_ref(),
        );
        let agrees = match &outcome.answer {
            Answer::StartupError(_) => self.expect.get("startup_error").is_some(),
            Answer::Refused(_) => self.expect.get("error").is_some(),
            Answer::LeftAlone(reason) => {
                self.adjustment() == Some(None)
                    && (self.reason.is_none() || self.reason.as_deref() == *reason)
            }
            Answer::Gated => self.adjustment() == Some(None) && self.reason.is_none(),
            Answer::Adjusted(adjustment) => self.adjustment() == Some(Some(*adjustment.clone())),
        };
        let complaint = || {
            format!(
                "{}: {:?}, expected {}",
                self.id, outcome.answer, self.expect
            )
        };
        (!agrees).then(complaint)
    }

    fn container(&self) -> Option<Container> {
        let container = rooted(&self.container.as_ref()?.to_string());
        Some(serde_json::from_str(&container).unwrap())
    }

    fn adjustment(&self) -> Option<Option<ContainerAdjustment>> {
        let adjustment = rooted(&self.expect.get("adjust")?.to_string());
        Some(serde_json::from_str(&adjustment).unwrap())
    }
}

impl Staged {
    fn node(&self) -> Node {
        let device = Device {
            major: self.major,
            minor: self.minor,
            mode: self
                .mode
                .as_deref()
                .map_or(0o644, |mode| u32::from_str_radix(mode, 8).unwrap()),
            uid: self.uid,
            gid: self.gid,
        };
        match self.kind.as_str() {
            "dir" => Node::Directory,
            "file" => match serde_json::from_str(&rooted(&self.content)) {
                Ok(specification) => Node::Specification(CdiSpec::into(specification)),
                Err(_) => Node::File,
            },
            "fifo" => Node::Fifo,
            "char" => Node::Character(device),
            "block" => Node::Block(device),
            "symlink" => Node::Link(rooted(self.target.as_deref().unwrap())),
            kind => panic!("unknown kind {kind}"),
        }
    }
}

/// A specification as it stands in a case, which has them as JSON.
#[derive(Deserialize)]
struct CdiSpec {
    kind: String,
    devices: Vec<CdiDevice>,
    #[serde(rename = "containerEdits", default)]
    edits: CdiEdits,
}

#[derive(Deserialize)]
struct CdiDevice {
    name: String,
    #[serde(rename = "containerEdits", default)]
    edits: CdiEdits,
}

#[derive(Default, Deserialize)]
struct CdiEdits {
    #[serde(rename = "deviceNodes", default)]
    nodes: Vec<CdiNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct CdiNode {
    path: String,
    host_path: String,
    major: u32,
}

impl From<CdiSpec> for Specification {
    fn from(spec: CdiSpec) -> Self {
        let nodes = |edits: CdiEdits| edits.nodes.into_iter().map(SpecifiedNode::from).collect();
        let devices = spec.devices.into_iter();
        Self {
            kind: spec.kind,
            devices: devices
                .map(|device| (device.name, nodes(device.edits)))
                .collect(),
            nodes: nodes(spec.edits),
        }
    }
}

impl From<CdiNode> for SpecifiedNode {
    fn from(node: CdiNode) -> Self {
        Self {
            path: node.path,
            host_path: node.host_path,
            major: node.major,
        }
    }
}

fn rooted(text: &str) -> String {
    text.replace("$ROOT", ROOT).replace("$AGENT", AGENT)
}

#[test]
fn the_model_reproduces_every_recorded_case() {
    let mut cases = 0;
    let mut complaints = Vec::new();
    for file in [
        "cases.jsonl.gz",
        "cases-env.jsonl.gz",
        "cases-agent.jsonl.gz",
        "cases-volumes.jsonl.gz",
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../vectors")
            .join(file);
        for line in BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines() {
            let case: Case = serde_json::from_str(&line.unwrap()).unwrap();
            cases += 1;
            match (
                DESCRIPTION_WINS.iter().find(|(id, _)| *id == case.id),
                case.complaint(),
            ) {
                (None, complaint) => complaints.extend(complaint),
                (Some(_), Some(_)) => {}
                (Some((_, why)), None) => {
                    complaints.push(format!("{} agrees after all: {why}", case.id))
                }
            }
        }
    }
    assert!(cases > 3200, "{cases} cases");
    assert!(
        complaints.is_empty(),
        "{} disagree\n{}",
        complaints.len(),
        complaints.join("\n")
    );
}
