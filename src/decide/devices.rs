//! Device nodes: which ones are staged, and what each is.

use std::collections::BTreeMap;

use super::adjustment::DeviceNode;
use super::staged::{Node, NodeKind, Staged};
use super::warning::{SkipReason, Warning};
use crate::path::AbsolutePath;

/// A node that can be handed out, if it turns out to be one.
pub(super) struct Candidate {
    /// Where it goes in the container.
    path: String,
    /// Where it is staged on the host.
    source: AbsolutePath,
}

/// Everything in `directory` whose name starts with `prefix` and which is not itself a directory, to be put
/// into `destination`, sorted by path. Fails with what to say about a directory that offers nothing.
pub(super) fn candidates(
    staged: &impl Staged,
    directory: &AbsolutePath,
    prefix: &str,
    destination: &str,
) -> Result<Vec<Candidate>, String> {
    let mut names: Vec<String> = staged
        .entries(directory)
        .map_err(|error| error.to_string())?
        .into_iter()
        .filter(|entry| entry.name.starts_with(prefix) && !entry.is_directory)
        .map(|entry| entry.name)
        .collect();
    if names.is_empty() {
        return Err(format!("nothing there is named {prefix}*"));
    }
    names.sort();
    let candidate = |name: String| Candidate {
        path: format!("{destination}/{name}"),
        source: directory.join(&name),
    };
    Ok(names.into_iter().map(candidate).collect())
}

/// Looks candidates up, and keeps those that are character devices.
pub(super) struct Lookup<'a, S> {
    staged: &'a S,
    /// Whether nodes of a real NVIDIA driver are held back.
    real_driver_guard: bool,
    /// The paths that were not handed out.
    skipped: BTreeMap<SkipReason, Vec<String>>,
}

impl<'a, S: Staged> Lookup<'a, S> {
    pub(super) fn new(staged: &'a S, real_driver_guard: bool) -> Self {
        Self {
            staged,
            real_driver_guard,
            skipped: BTreeMap::new(),
        }
    }

    /// The nodes among the candidates, in their order.
    pub(super) fn nodes(&mut self, candidates: Vec<Candidate>) -> Vec<DeviceNode> {
        let mut nodes = Vec::new();
        for Candidate { path, source } in candidates {
            match self.numbers(&source) {
                Ok((node, major, minor)) => nodes.push(DeviceNode {
                    path,
                    major,
                    minor,
                    file_mode: node.mode,
                    uid: node.uid,
                    gid: node.gid,
                }),
                Err(reason) => self.skipped.entry(reason).or_default().push(path),
            }
        }
        nodes
    }

    /// Whether one of the candidates is a node of a real NVIDIA driver and must not be handed out.
    pub(super) fn holds_any_back(&self, candidates: &[Candidate]) -> bool {
        candidates
            .iter()
            .any(|candidate| matches!(self.numbers(&candidate.source), Err(SkipReason::RealDriver)))
    }

    fn numbers(&self, source: &AbsolutePath) -> Result<(Node, u32, u32), SkipReason> {
        let node = self
            .staged
            .node(source)
            .map_err(|_| SkipReason::Unresolved)?;
        let NodeKind::CharDevice { major, minor } = node.kind else {
            return Err(SkipReason::NotCharDevice);
        };
        if self.real_driver_guard && self.is_real(major) {
            return Err(SkipReason::RealDriver);
        }
        Ok((node, major, minor))
    }

    /// Whether a node of this major would open a real GPU: the mock's nodes carry NVIDIA's own numbers.
    fn is_real(&self, major: u32) -> bool {
        let drivers = self.staged.char_drivers(major);
        drivers.iter().any(|driver| driver.starts_with("nvidia"))
    }

    /// One warning for each reason to skip.
    pub(super) fn into_warnings(self) -> impl Iterator<Item = Warning> {
        self.skipped
            .into_iter()
            .map(|(reason, devices)| Warning::DevicesSkipped { reason, devices })
    }
}
