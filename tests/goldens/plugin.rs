//! The plugin without its process: from a command line and the bytes of a request to those of the answer.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;

use nri_model::cdi::{Specification, SpecifiedNode};
use nri_model::tree::Node as StagedNode;
use nri_model::{CommandLine, Gate, World};
use nri_plugin::config::Config;
use nri_plugin::convert::{self, Asked};
use nri_plugin::decide::{
    self, CdiNode, Decision, Entry, Node, NodeKind, Outcome, Runtime, Selection, Staged, Warning,
    cdi,
};
use nri_plugin::flags::{Flags, Invocation};
use nri_plugin::path::AbsolutePath;
use nri_proto::api::{
    Container, ContainerAdjustment, CreateContainerRequest, CreateContainerResponse, PodSandbox,
};
use prost::Message;

/// What goes back to the runtime, and what the log says of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answered {
    /// What was decided.
    pub(crate) outcome: Outcome,
    /// The adjustment as the runtime decodes it.
    pub(crate) adjustment: Option<ContainerAdjustment>,
    /// The degradations.
    pub(crate) warnings: Vec<Warning>,
}

/// Starts as the process does.
///
/// # Errors
///
/// What stands on stderr before the process exits.
pub(crate) fn start(command_line: &CommandLine) -> Result<Config, String> {
    let arguments = command_line.arguments.iter().map(OsString::from);
    let variable = |name: &str| command_line.environment.get(name).map(OsString::from);
    match Flags::parse(arguments, variable).map_err(|error| error.to_string())? {
        Invocation::Run(flags) => Config::resolve(*flags).map_err(|error| error.to_string()),
        Invocation::Print(text) => Err(text),
    }
}

/// The request as it comes over the wire.
pub(crate) fn request(pod: Option<&PodSandbox>, container: Option<&Container>) -> Vec<u8> {
    let (pod, container) = (pod.cloned(), container.cloned());
    CreateContainerRequest { pod, container }.encode_to_vec()
}

/// Answers one request.
pub(crate) fn answer(config: &Config, world: &World, request: &[u8]) -> Answered {
    let asked = convert::asked(config, request).expect("a request that was just encoded");
    let selection = select(config, &asked);
    decided(behind_gate(config, &Disk::of(world), &asked, &selection))
}

/// The first step, which reads neither the disk nor the gate.
pub(crate) fn select(config: &Config, asked: &Asked) -> Selection {
    decide::select(config, asked.pod.as_ref(), asked.container.as_ref())
}

/// The second step, behind the staging gate where there is one.
pub(crate) fn behind_gate(
    config: &Config,
    disk: &Disk<'_>,
    asked: &Asked,
    selection: &Selection,
) -> Decision {
    let world = disk.world;
    if let Selection::LeaveAlone { reason, warning } = selection {
        return Decision {
            outcome: Outcome::Unmodified(*reason),
            warnings: warning.iter().cloned().collect(),
        };
    }
    if config.staging_gate.is_some() && world.gate == Gate::Closed {
        return selection.behind_closed_gate("closed by the test".into());
    }
    let runtime = match world.runtime {
        nri_model::Runtime::ContainerdBefore2_1 => Runtime::identify("containerd", "1.7.24"),
        nri_model::Runtime::Containerd2_1 => Runtime::identify("containerd", "v2.1.9"),
        nri_model::Runtime::Containerd2_2 => Runtime::identify("containerd", "v2.2.7"),
        nri_model::Runtime::CriOBefore1_34 => Runtime::identify("cri-o", "1.33.13"),
        nri_model::Runtime::CriO => Runtime::identify("cri-o", "1.34.11"),
    };
    decide::adjust(config, selection, asked.container.as_ref(), disk, runtime)
}

/// The answer on the wire and back.
pub(crate) fn decided(decision: Decision) -> Answered {
    let Decision { outcome, warnings } = decision;
    let adjustment = match &outcome {
        Outcome::Adjusted(adjustment) => Some(adjustment.clone()),
        _ => None,
    };
    let bytes = convert::answer(adjustment);
    let response = CreateContainerResponse::decode(&*bytes).expect("an answer that decodes");
    assert_eq!((response.update, response.evict), (vec![], vec![]));
    Answered {
        outcome,
        adjustment: response.adjust,
        warnings,
    }
}

/// The world's tree, as the decision looks at a disk.
pub(crate) struct Disk<'a> {
    world: &'a World,
    looks: RefCell<Vec<Look>>,
}

/// One look at the disk.
#[derive(Clone, Debug)]
pub(crate) enum Look {
    /// At what stands at a path.
    At(String),
    /// At what is in a directory.
    Into(String),
}

impl Look {
    /// Whether it can show what stands at `path`.
    pub(crate) fn sees(&self, path: &str) -> bool {
        let below = |above: &str| nri_plugin::path::way_down(above, path).is_some();
        match self {
            Self::At(looked_at) => {
                looked_at == path || nri_plugin::path::way_down(path, looked_at).is_some()
            }
            Self::Into(directory) => below(directory),
        }
    }
}

impl<'a> Disk<'a> {
    pub(crate) fn of(world: &'a World) -> Self {
        Self {
            world,
            looks: RefCell::default(),
        }
    }

    /// What has been looked at.
    pub(crate) fn into_looks(self) -> Vec<Look> {
        self.looks.into_inner()
    }

    fn list(&self, path: &str) -> Option<BTreeMap<&str, &StagedNode>> {
        self.looks.borrow_mut().push(Look::Into(path.to_owned()));
        self.world.tree.list(path)
    }

    fn stat(&self, path: &str) -> Option<&StagedNode> {
        self.looks.borrow_mut().push(Look::At(path.to_owned()));
        self.world.tree.stat(path)
    }
}

impl Staged for Disk<'_> {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        let entries = self
            .list(directory.as_str())
            .ok_or(io::ErrorKind::NotFound)?;
        // The decision must sort them itself.
        let unsorted = entries.into_iter().rev().map(|(name, node)| Entry {
            name: name.into(),
            is_directory: *node == StagedNode::Directory,
        });
        Ok(unsorted.collect())
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        let staged = self.stat(path.as_str()).ok_or(io::ErrorKind::NotFound)?;
        let (kind, mode, uid, gid) = match staged {
            StagedNode::Directory => (NodeKind::Directory, 0o755, 0, 0),
            StagedNode::File | StagedNode::Specification(_) => (NodeKind::File, 0o644, 0, 0),
            StagedNode::Character(device) => {
                let kind = NodeKind::CharDevice {
                    major: device.major,
                    minor: device.minor,
                };
                (kind, device.mode & 0o777, device.uid, device.gid)
            }
            StagedNode::Fifo | StagedNode::Block(_) | StagedNode::Link(_) => {
                (NodeKind::Other, 0o644, 0, 0)
            }
        };
        Ok(Node {
            kind,
            mode,
            uid,
            gid,
        })
    }

    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        let text = match self.stat(specification.as_str()) {
            Some(StagedNode::Specification(specification)) => json(specification),
            Some(_) => String::new(),
            None => return Err("entity not found".into()),
        };
        let nodes = cdi::nodes(&text, name)?;
        match cdi::missing(&nodes, overlay, |path| self.stat(path.as_str()).is_some()) {
            Some(path) => Err(format!("its node {path} is not there")),
            None => Ok(nodes.into()),
        }
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        let majors = self.world.nvidia_majors.iter();
        Arc::new(majors.map(|major| u32::try_from(*major).unwrap()).collect())
    }
}

/// The specification as a node agent could write it.
fn json(specification: &Specification) -> String {
    let node = |node: &SpecifiedNode| {
        let mut json = serde_json::json!({ "path": node.path });
        if !node.host_path.is_empty() {
            json["hostPath"] = node.host_path.as_str().into();
        }
        if node.major != 0 {
            json["major"] = node.major.into();
        }
        json
    };
    let edits = |nodes: &[SpecifiedNode]| {
        let nodes: Vec<_> = nodes.iter().map(node).collect();
        serde_json::json!({ "deviceNodes": nodes })
    };
    let devices = specification.devices.iter();
    let devices: Vec<_> = devices
        .map(|(name, nodes)| serde_json::json!({ "name": name, "containerEdits": edits(nodes) }))
        .collect();
    let specification = serde_json::json!({
        "cdiVersion": "0.6.0",
        "kind": specification.kind,
        "devices": devices,
        "containerEdits": edits(&specification.nodes),
    });
    specification.to_string()
}

/// A specification of the default CDI device, with the nodes that are staged by default.
pub(crate) fn specification() -> StagedNode {
    let node = |name: &str| SpecifiedNode {
        path: format!("/dev/{name}"),
        host_path: format!("/var/lib/nvml-mock/driver/dev/{name}"),
        major: 0,
    };
    StagedNode::Specification(Specification {
        kind: "nvml-mock.nvidia.com/gpu".into(),
        devices: vec![("all".into(), vec![node("nvidia0")])],
        nodes: vec![],
    })
}

/// The warnings by the model's names.
pub(crate) fn warnings_as_modelled(answered: &Answered) -> BTreeSet<nri_model::Warning> {
    use nri_model::Warning as Modelled;
    use nri_plugin::decide::SkipReason;

    let mut warnings = BTreeSet::new();
    for warning in &answered.warnings {
        match warning {
            Warning::ComputeDomainStagingOff => warnings.insert(Modelled::ComputeDomainStagingOff),
            Warning::OverlayNotStaged { .. } => warnings.insert(Modelled::OverlayNotStaged),
            Warning::OverlayWouldPropagate { .. } => {
                warnings.insert(Modelled::OverlayWouldPropagate)
            }
            Warning::VolumeBelowOverlay { .. } => warnings.insert(Modelled::VolumeBelowOverlay),
            Warning::OwnDev => warnings.insert(Modelled::OwnDev),
            Warning::ConfigNotWritable => warnings.insert(Modelled::ConfigNotWritable),
            Warning::CdiNodesHeldBack { .. } => warnings.insert(Modelled::CdiNodesHeldBack),
            Warning::NoGpuDevices { .. } => warnings.insert(Modelled::NoGpuNodes),
            Warning::NoCdiSpec { .. } => warnings.insert(Modelled::NoCdiSpec),
            Warning::NoInfinibandDevices { .. } => warnings.insert(Modelled::NoHca),
            Warning::NoImexChannels { .. } => warnings.insert(Modelled::NoImexChannels),
            Warning::DevicesSkipped {
                reason: SkipReason::RealDriver,
                ..
            } => warnings.insert(Modelled::RealDriver),
            Warning::DevicesSkipped { .. } => warnings.insert(Modelled::NotACharacterDevice),
            Warning::RepeatedInAdjustment { .. } => warnings.insert(Modelled::Repeated),
            Warning::RepeatedEnv { keys } => {
                warnings.extend(keys.iter().cloned().map(Modelled::RepeatedKey));
                true
            }
        };
    }
    warnings
}
