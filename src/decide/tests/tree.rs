//! A staged tree in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use super::super::cdi::{self, CdiNode};
use super::super::{Entry, Node, NodeKind, Staged};
use crate::path::AbsolutePath;

/// What is staged, and what the kernel has drivers for.
#[derive(Clone, Default)]
pub(super) struct Tree {
    /// Each path with its node; `None` is a link to nowhere.
    nodes: BTreeMap<String, Option<Node>>,
    links: Vec<String>,
    texts: BTreeMap<String, String>,
    nvidia_majors: BTreeSet<u32>,
}

impl Tree {
    /// An overlay at its default place with one GPU, one IMEX channel and one HCA.
    pub(super) fn staged() -> Self {
        Self::default()
            .directory("/var/lib/nvml-mock/driver/config")
            .directory("/var/lib/nvml-mock/ib/sys/class/infiniband/mlx5_0")
            .char_device("/var/lib/nvml-mock/driver/dev/nvidia0", 195, 0)
            .char_device(
                "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels/channel0",
                234,
                0,
            )
    }

    /// A staged topology document.
    pub(super) fn with_topology(self) -> Self {
        self.file("/var/lib/nvml-mock/topology/topology.yaml")
    }

    pub(super) fn directory(self, path: &str) -> Self {
        self.node(path, NodeKind::Directory, 0o755)
    }

    pub(super) fn file(self, path: &str) -> Self {
        self.node(path, NodeKind::File, 0o644)
    }

    pub(super) fn other(self, path: &str) -> Self {
        self.node(path, NodeKind::Other, 0o644)
    }

    pub(super) fn char_device(self, path: &str, major: u32, minor: u32) -> Self {
        self.node(path, NodeKind::CharDevice { major, minor }, 0o666)
    }

    /// A link to something of `kind`.
    pub(super) fn link(mut self, path: &str, kind: NodeKind) -> Self {
        self.links.push(path.to_owned());
        self.node(path, kind, 0o777)
    }

    /// A link to nowhere.
    pub(super) fn dangling(mut self, path: &str) -> Self {
        self.nodes.insert(path.to_owned(), None);
        self
    }

    /// A file in which `text` stands.
    pub(super) fn text(mut self, path: &str, text: &str) -> Self {
        self.texts.insert(path.to_owned(), text.to_owned());
        self.file(path)
    }

    /// A real NVIDIA driver in the kernel.
    pub(super) fn nvidia_driver(mut self, major: u32) -> Self {
        self.nvidia_majors.insert(major);
        self
    }

    /// A node with its missing parents, owned by user 1 and group 2.
    fn node(mut self, path: &str, kind: NodeKind, mode: u32) -> Self {
        let (uid, gid) = (1, 2);
        if let Some((parent, _)) = path
            .rsplit_once('/')
            .filter(|(parent, _)| !parent.is_empty())
            && !self.nodes.contains_key(parent)
        {
            self = self.directory(parent);
        }
        let node = Node {
            kind,
            mode,
            uid,
            gid,
        };
        self.nodes.insert(path.to_owned(), Some(node));
        self
    }
}

impl Staged for Tree {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        if self.node(directory)?.kind != NodeKind::Directory {
            return Err(io::Error::from(io::ErrorKind::NotADirectory));
        }
        let inside = format!("{directory}/");
        let entry = |(path, node): (&String, &Option<Node>)| {
            let name = path
                .strip_prefix(&inside)
                .filter(|name| !name.contains('/'))?;
            let linked = self.links.contains(path);
            Some(Entry {
                name: name.to_owned(),
                is_directory: !linked && node.is_some_and(|node| node.kind == NodeKind::Directory),
            })
        };
        // Backwards, because no order is promised.
        Ok(self.nodes.iter().rev().filter_map(entry).collect())
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        let node = self.nodes.get(path.as_str()).copied().flatten();
        node.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        let text = self.texts.get(specification.as_str());
        let nodes = cdi::nodes(text.ok_or("entity not found")?, name)?;
        match cdi::missing(&nodes, overlay, |path| self.node(path).is_ok()) {
            Some(path) => Err(format!("its node {path} is not there")),
            None => Ok(nodes.into()),
        }
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        Arc::new(self.nvidia_majors.clone())
    }
}
