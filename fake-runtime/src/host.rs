//! What the node has on which containers are made: CDI specs, device nodes, and how mounts propagate.

mod node;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub use node::HostNode;
use path_clean::clean;
use serde::Deserialize;

use crate::cdi::Registry;

/// Facts about the node. They are given, not looked up while a container is made.
#[derive(Clone, Debug, Deserialize)]
pub struct Host {
    /// The CDI devices that can be named.
    pub cdi: Registry,
    /// The device nodes behind CDI devices, by path.
    pub nodes: BTreeMap<String, HostNode>,
    /// How mounts propagate, by mount point.
    pub propagation: BTreeMap<String, Propagation>,
    /// Paths that are known not to be there, with everything below them.
    #[serde(default)]
    pub missing: Vec<String>,
    /// Whether its control groups are those of version 1.
    #[serde(default)]
    pub cgroup_v1: bool,
}

/// How a mount of the host propagates, as containerd calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Propagation {
    /// Not at all.
    #[serde(rename = "")]
    Private,
    /// Into it, not out of it.
    #[serde(rename = "rslave")]
    Slave,
    /// Both ways.
    #[serde(rename = "rshared")]
    Shared,
}

impl Propagation {
    /// The mount option, empty for private.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "",
            Self::Slave => "rslave",
            Self::Shared => "rshared",
        }
    }
}

impl Default for Host {
    /// No CDI devices, and one shared root mount, as systemd makes it.
    fn default() -> Self {
        Self {
            cdi: Registry::default(),
            nodes: BTreeMap::new(),
            propagation: BTreeMap::from([("/".to_owned(), Propagation::Shared)]),
            missing: Vec::new(),
            cgroup_v1: false,
        }
    }
}

/// Where containerd looks for CDI specs.
const CONTAINERDS_CDI_DIRS: [&str; 2] = ["/etc/cdi", "/var/run/cdi"];

impl Host {
    /// A host with the CDI devices of these directories and of those where containerd looks.
    #[must_use]
    pub fn with_cdi_dirs_besides(mut dirs: Vec<PathBuf>) -> Self {
        dirs.extend(CONTAINERDS_CDI_DIRS.map(PathBuf::from));
        Self::with_cdi_dirs(&dirs)
    }

    /// A host with the CDI devices of the spec files in these directories, of which the later ones take
    /// precedence, and with what this machine has at the paths that those devices name.
    pub fn with_cdi_dirs(dirs: &[PathBuf]) -> Self {
        let cdi = Registry::load(dirs);
        let nodes = cdi
            .host_paths()
            .filter_map(|path| Some((path.to_owned(), HostNode::at(path)?)))
            .collect();
        Self {
            cdi,
            nodes,
            ..Self::default()
        }
    }

    /// Whether the path is known not to be there.
    pub fn lacks(&self, path: &str) -> bool {
        let path = Path::new(path);
        self.missing.iter().any(|missing| path.starts_with(missing))
    }

    /// How the mount propagates on which the path lies, or none for a relative path.
    ///
    /// The mount is the one with the longest mount point that the path begins with, as plain text:
    /// containerd takes `/x/privX` to be on `/x/priv`. Links are not followed.
    pub fn propagation(&self, path: &str) -> Option<Propagation> {
        if !path.starts_with('/') {
            return None;
        }
        let path = clean(path).to_string_lossy().into_owned();
        self.propagation
            .iter()
            .filter(|(point, _)| path.starts_with(point.as_str()))
            .max_by_key(|(point, _)| point.len())
            .map(|(_, propagation)| *propagation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        let mut host = Host::default();
        host.propagation
            .insert("/x/priv".into(), Propagation::Private);
        host.propagation
            .insert("/x/priv/slave".into(), Propagation::Slave);
        host
    }

    #[test]
    fn the_longest_mount_point_decides() {
        for (path, propagation) in [
            ("/x", Propagation::Shared),
            ("/x/priv/a", Propagation::Private),
            ("/x/priv/slave", Propagation::Slave),
            ("/x/./priv//a/../slave/b", Propagation::Slave),
        ] {
            assert_eq!(host().propagation(path), Some(propagation), "{path}");
        }
    }

    #[test]
    fn a_mount_point_is_compared_as_plain_text() {
        assert_eq!(host().propagation("/x/privX"), Some(Propagation::Private));
    }

    #[test]
    fn a_relative_path_is_on_no_mount() {
        assert_eq!(host().propagation("tmpfs"), None);
        assert_eq!(host().propagation(""), None);
    }

    #[test]
    fn a_cdi_device_is_looked_up_on_this_machine() {
        let dir = tempfile::tempdir().unwrap();
        let spec = r#"{"kind": "x.example/y", "devices": [{"name": "z", "containerEdits": {"deviceNodes": [
            {"path": "/dev/mock0", "hostPath": "/dev/null"}, {"path": "/no/such/device"}]}}]}"#;
        std::fs::write(dir.path().join("x.json"), spec).unwrap();
        let host = Host::with_cdi_dirs(&[dir.path().to_owned()]);
        assert_eq!(host.nodes.keys().collect::<Vec<_>>(), ["/dev/null"]);
        assert_eq!(
            (host.nodes["/dev/null"].major, host.nodes["/dev/null"].minor),
            (1, 3)
        );
    }
}
