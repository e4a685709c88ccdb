//! Device nodes: which ones are staged, and what each is.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::adjustment::DeviceNode;
use super::cdi::CdiNode;
use super::staged::{Node, NodeKind, Staged};
use super::warning::{SkipReason, Warning};
use crate::path::AbsolutePath;

/// What can be handed out, if it turns out to be a character device.
pub(super) struct Candidate<'a> {
    /// Where it goes in the container.
    path: String,
    /// Where it is staged on the host.
    source: Source<'a>,
    node: io::Result<Node>,
}

/// Where a node is staged on the host.
pub(super) struct Source<'a> {
    directory: &'a AbsolutePath,
    name: String,
}

impl Source<'_> {
    pub(super) fn path(&self) -> AbsolutePath {
        self.directory.join(&self.name)
    }
}

/// A candidate that is a character device.
pub(super) struct Found<'a> {
    /// Where it is staged on the host.
    pub(super) source: Source<'a>,
    /// The node in the container.
    pub(super) node: DeviceNode,
}

/// Everything in `directory` whose name starts with `prefix` and which is not itself a directory, to be put
/// into `destination`, sorted by path. Fails with what to say about a directory that offers nothing.
pub(super) fn candidates<'a>(
    staged: &impl Staged,
    directory: &'a AbsolutePath,
    prefix: &str,
    destination: &str,
) -> Result<Vec<Candidate<'a>>, String> {
    let mut found = staged
        .nodes(directory, &|entry| {
            entry.name.starts_with(prefix) && !entry.is_directory
        })
        .map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Err(format!("nothing there is named {prefix}*"));
    }
    found.sort_unstable_by(|(name, _), (other, _)| name.cmp(other));
    let candidate = |(name, node): (String, _)| Candidate {
        path: [destination, "/", &name].concat(),
        source: Source { directory, name },
        node,
    };
    Ok(found.into_iter().map(candidate).collect())
}

/// Keeps the candidates that are character devices.
pub(super) struct Lookup<'a, S> {
    staged: &'a S,
    /// Whether nodes of a real NVIDIA driver are held back.
    real_driver_guard: bool,
    /// The majors of that driver, once they are asked for.
    real: OnceCell<Arc<BTreeSet<u32>>>,
    /// The paths that were not handed out.
    skipped: BTreeMap<SkipReason, Vec<String>>,
}

impl<'a, S: Staged> Lookup<'a, S> {
    pub(super) fn new(staged: &'a S, real_driver_guard: bool) -> Self {
        Self {
            staged,
            real_driver_guard,
            real: OnceCell::new(),
            skipped: BTreeMap::new(),
        }
    }

    /// The majors whose nodes are held back: each would open a real GPU, since the mock's nodes carry NVIDIA's own
    /// numbers.
    fn real(&self) -> &BTreeSet<u32> {
        self.real.get_or_init(|| match self.real_driver_guard {
            true => self.staged.nvidia_majors(),
            false => Arc::default(),
        })
    }

    /// The nodes among the candidates, in their order.
    pub(super) fn nodes<'c>(&mut self, candidates: Vec<Candidate<'c>>) -> Vec<Found<'c>> {
        let mut nodes = Vec::new();
        for Candidate { path, source, node } in candidates {
            match self.numbers(node) {
                Ok((node, major, minor)) => nodes.push(Found {
                    source,
                    node: DeviceNode {
                        path,
                        major,
                        minor,
                        file_mode: node.mode,
                        uid: node.uid,
                        gid: node.gid,
                    },
                }),
                Err(reason) => self.skipped.entry(reason).or_default().push(path),
            }
        }
        nodes
    }

    /// The nodes of a CDI device that must not be handed out: those of a real NVIDIA driver, and, on a kernel that has
    /// one, those that cannot be looked at.
    pub(super) fn held_back<'n>(&self, nodes: &'n [CdiNode]) -> impl Iterator<Item = &'n CdiNode> {
        let guarded = if self.real().is_empty() { &[] } else { nodes };
        guarded.iter().filter(|node| self.holds_back(node))
    }

    fn holds_back(&self, node: &CdiNode) -> bool {
        let looked_at = node.path.as_ref().map(|path| self.staged.node(path));
        let staged = match looked_at {
            Some(Ok(node)) => match node.kind {
                NodeKind::CharDevice { major, .. } => Some(major),
                _ => None,
            },
            Some(Err(_)) | None if node.major.is_none() => return true,
            Some(Err(_)) | None => None,
        };
        let mut majors = node.major.into_iter().chain(staged);
        majors.any(|major| self.real().contains(&major))
    }

    fn numbers(&self, node: io::Result<Node>) -> Result<(Node, u32, u32), SkipReason> {
        let node = node.map_err(|_| SkipReason::Unresolved)?;
        let NodeKind::CharDevice { major, minor } = node.kind else {
            return Err(SkipReason::NotCharDevice);
        };
        if self.real().contains(&major) {
            return Err(SkipReason::RealDriver);
        }
        Ok((node, major, minor))
    }

    /// One warning for each reason to skip.
    pub(super) fn into_warnings(self) -> impl Iterator<Item = Warning> {
        self.skipped
            .into_iter()
            .map(|(reason, devices)| Warning::DevicesSkipped { reason, devices })
    }
}
