//! The plugin without its process: from a command line and the bytes of a request to those of the answer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;

use nri_model::tree::{Node as StagedNode, Tree};
use nri_model::{CommandLine, Gate, World};
use nri_plugin::config::Config;
use nri_plugin::convert::{self, Asked};
use nri_plugin::decide::{
    self, Decision, Entry, Node, NodeKind, Outcome, Runtime, Selection, Staged, Warning,
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
    decided(behind_gate(config, world, &asked, &selection))
}

/// The first step, which reads neither the disk nor the gate.
pub(crate) fn select(config: &Config, asked: &Asked) -> Selection {
    decide::select(config, asked.pod.as_ref(), asked.container.as_ref())
}

/// The second step, behind the staging gate where there is one.
pub(crate) fn behind_gate(
    config: &Config,
    world: &World,
    asked: &Asked,
    selection: &Selection,
) -> Decision {
    if let Selection::LeaveAlone { reason, warning } = selection {
        return Decision {
            outcome: Outcome::Unmodified(*reason),
            warnings: warning.iter().cloned().collect(),
        };
    }
    if config.staging_gate.is_some() && world.gate == Gate::Closed {
        return selection.behind_closed_gate("closed by the test".into());
    }
    let version = if world.containerd_1 {
        "1.7.24"
    } else {
        "v2.1.9"
    };
    let runtime = Runtime::identify("containerd", version);
    decide::adjust(
        config,
        selection,
        asked.container.as_ref(),
        &Disk(world),
        runtime,
    )
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
pub(crate) struct Disk<'a>(pub &'a World);

impl Disk<'_> {
    fn tree(&self) -> &Tree {
        &self.0.tree
    }
}

impl Staged for Disk<'_> {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        let entries = self
            .tree()
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
        let staged = self
            .tree()
            .stat(path.as_str())
            .ok_or(io::ErrorKind::NotFound)?;
        let (kind, mode, uid, gid) = match staged {
            StagedNode::Directory => (NodeKind::Directory, 0o755, 0, 0),
            StagedNode::File => (NodeKind::File, 0o644, 0, 0),
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

    fn char_drivers(&self, major: u32) -> Vec<String> {
        let mut drivers = vec!["not-nvidia".to_owned()];
        if self.0.nvidia_majors.contains(&major.into()) {
            drivers.push("nvidia-frontend".into());
        }
        drivers
    }
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
