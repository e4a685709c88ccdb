//! The decision's only view of the disk.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use super::cdi::CdiNode;
use crate::path::AbsolutePath;

/// What is staged on the host at this moment.
///
/// The decision asks anew for every container, so that what the node agent stages later is seen without a
/// restart. [`Host`](crate::host::Host) is the real one.
pub trait Staged {
    /// What stands directly in `directory`, in no particular order.
    ///
    /// # Errors
    ///
    /// When it is missing, not a directory, or not readable.
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>>;

    /// What `path` leads to, following links.
    ///
    /// # Errors
    ///
    /// When nothing is there, or it cannot be told.
    fn node(&self, path: &AbsolutePath) -> io::Result<Node>;

    /// The names in `directory` of what `is_wanted`, in no particular order, and what each leads to.
    ///
    /// # Errors
    ///
    /// As [`entries`](Self::entries).
    fn nodes(
        &self,
        directory: &AbsolutePath,
        is_wanted: &dyn Fn(&Entry) -> bool,
    ) -> io::Result<Vec<(String, io::Result<Node>)>> {
        let wanted = self.entries(directory)?.into_iter().filter(is_wanted);
        let node = |Entry { name, .. }| {
            let node = self.node(&directory.join(&name));
            (name, node)
        };
        Ok(wanted.map(node).collect())
    }

    /// The device nodes that come with the CDI device `name`, as its specification has them. Those below `overlay`
    /// exist.
    ///
    /// # Errors
    ///
    /// Why the name does not resolve.
    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String>;

    /// The character device majors for which the kernel has a real NVIDIA driver: one registered under a name that
    /// starts with `nvidia`.
    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>>;
}

/// One name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name. Bytes that are no UTF-8 are replaced, so such an entry is not found when it is looked up.
    pub name: String,
    /// Whether it is itself a directory; a link to one is not.
    pub is_directory: bool,
}

/// What a path leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// The permission bits (`0777`).
    pub mode: u32,
    /// The owning user.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
}

/// The kinds of node that the decision tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A character device.
    CharDevice {
        /// The major number.
        major: u32,
        /// The minor number.
        minor: u32,
    },
    /// Anything else: a socket, a pipe, a block device.
    Other,
}
