//! A file system that exists only in memory.

use std::collections::BTreeMap;

use crate::cdi::Specification;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A directory.
    Directory,
    /// A regular file; nothing ever reads what is in it, or understands it.
    File,
    /// A regular file that is a CDI specification.
    Specification(Specification),
    /// A named pipe.
    Fifo,
    /// A character device.
    Character(Device),
    /// A block device.
    Block(Device),
    /// A symbolic link and what it says.
    Link(String),
}

impl Node {
    /// A regular file, whatever is in it.
    pub fn is_file(&self) -> bool {
        matches!(self, Self::File | Self::Specification(_))
    }

    /// A character device that everybody may open.
    pub fn character(major: u32, minor: u32) -> Self {
        Self::Character(Device {
            major,
            minor,
            mode: 0o666,
            uid: 0,
            gid: 0,
        })
    }
}

/// A device's numbers and who may open it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
    /// The mode, without the type bits.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The owner's group.
    pub gid: u32,
}

/// Nodes by absolute path. The root is always there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<String, Node>,
}

/// More links on the way than the kernel follows.
const TOO_MANY_LINKS: usize = 40;

impl Tree {
    /// Puts a node at an absolute path without links, making what is missing above it.
    pub fn add(&mut self, path: &str, node: Node) {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for depth in 1..parts.len() {
            let above = format!("/{}", parts[..depth].join("/"));
            self.nodes.entry(above).or_insert(Node::Directory);
        }
        self.nodes.insert(format!("/{}", parts.join("/")), node);
    }

    /// What stands there, following links to the end: `stat`.
    pub fn stat(&self, path: &str) -> Option<&Node> {
        let real = self.real_path(path)?;
        self.at(&real)
    }

    /// The entries of a directory by name, links not followed; `None` where it cannot be listed.
    pub fn list(&self, path: &str) -> Option<BTreeMap<&str, &Node>> {
        let real = self.real_path(path)?;
        if self.at(&real)? != &Node::Directory {
            return None;
        }
        let prefix = if real == "/" {
            real
        } else {
            format!("{real}/")
        };
        let below = self.nodes.iter().filter_map(|(path, node)| {
            let name = path.strip_prefix(&prefix)?;
            (!name.is_empty() && !name.contains('/')).then_some((name, node))
        });
        Some(below.collect())
    }

    /// Something is there.
    pub fn exists(&self, path: &str) -> bool {
        self.stat(path).is_some()
    }

    /// A directory is there.
    pub fn is_directory(&self, path: &str) -> bool {
        self.stat(path) == Some(&Node::Directory)
    }

    fn at(&self, real: &str) -> Option<&Node> {
        if real == "/" {
            return Some(&Node::Directory);
        }
        self.nodes.get(real)
    }

    /// The path without links, `.` and `..`, walked from the root as the kernel does.
    fn real_path(&self, path: &str) -> Option<String> {
        let mut links = 0;
        let mut here: Vec<String> = Vec::new();
        let mut ahead: Vec<String> = path.split('/').rev().map(String::from).collect();
        while let Some(part) = ahead.pop() {
            // Whatever comes next is looked up in what we stand on, which must be a directory.
            if self.at(&format!("/{}", here.join("/")))? != &Node::Directory {
                return None;
            }
            match part.as_str() {
                "" | "." => {}
                ".." => {
                    here.pop();
                }
                name => {
                    here.push(name.into());
                    if let Node::Link(target) = self.at(&format!("/{}", here.join("/")))? {
                        links += 1;
                        if links > TOO_MANY_LINKS {
                            return None;
                        }
                        here.pop();
                        if target.starts_with('/') {
                            here.clear();
                        }
                        ahead.extend(target.split('/').rev().map(String::from));
                    }
                }
            }
        }
        Some(format!("/{}", here.join("/")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree {
        let mut tree = Tree::default();
        tree.add("/a/file", Node::File);
        tree.add("/a/link", Node::Link("file".into()));
        tree.add("/b", Node::Link("/a".into()));
        tree.add("/loop", Node::Link("loop".into()));
        tree
    }

    #[test]
    fn links_are_followed_on_the_way_and_at_the_end() {
        assert_eq!(tree().stat("/b/link"), Some(&Node::File));
        assert_eq!(tree().stat("/b/../b/./link"), Some(&Node::File));
    }

    #[test]
    fn a_link_to_itself_and_a_file_taken_for_a_directory_are_nothing() {
        assert_eq!(tree().stat("/loop"), None);
        assert_eq!(tree().stat("/a/file/x"), None);
        assert_eq!(tree().stat("/a/file/"), None);
        assert_eq!(tree().list("/a/file"), None);
    }

    #[test]
    fn a_directory_lists_what_is_directly_in_it() {
        let tree = tree();
        let root: Vec<&str> = tree.list("/").unwrap().into_keys().collect();
        let through_a_link: Vec<&str> = tree.list("/b").unwrap().into_keys().collect();
        assert_eq!(root, ["a", "b", "loop"]);
        assert_eq!(through_a_link, ["file", "link"]);
    }
}
