//! What is staged on a host that is only made up.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use nri_plugin::config::Config;
use nri_plugin::decide::{CdiNode, Entry, Node, NodeKind, Staged};
use nri_plugin::path::AbsolutePath;

/// A host where each of eight things may be staged, by the bits of a byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct World<'a> {
    pub(crate) config: &'a Config,
    pub(crate) bits: u8,
}

impl World<'_> {
    fn has(&self, bit: u8) -> bool {
        self.bits & 1 << bit != 0
    }

    fn what(&self, path: &AbsolutePath) -> Option<NodeKind> {
        let Config {
            overlay_host_path: overlay,
            device_host_path: devices,
            imex_channel_host_path: channels,
            ..
        } = self.config;
        let numbered = |directory: &AbsolutePath, prefix: &str, major| {
            let minor = path.as_str().strip_prefix(directory.as_str())?;
            let minor = minor
                .strip_prefix('/')?
                .strip_prefix(prefix)?
                .parse()
                .ok()?;
            Some(NodeKind::CharDevice { major, minor })
        };
        let daemon = overlay.join("driver/usr/bin/nvidia-imex.real");
        if path == overlay {
            self.has(0).then_some(NodeKind::Directory)
        } else if *path == overlay.join("driver/config") {
            self.has(1).then_some(NodeKind::Directory)
        } else if *path == self.config.topology_host_path {
            self.has(2).then_some(NodeKind::File)
        } else if *path == self.config.cdi_spec_host_path {
            self.has(3).then_some(NodeKind::File)
        } else if *path == daemon {
            self.has(4).then_some(NodeKind::File)
        } else if *path == devices.join("nvidia-pipe") {
            Some(NodeKind::Other)
        } else {
            numbered(channels, "channel", 234).or_else(|| numbered(devices, "nvidia", 195))
        }
    }
}

impl Staged for World<'_> {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        let names: &[&str] = if *directory == self.config.device_host_path && self.has(5) {
            &["nvidia1", "nvidia0", "nvidia-pipe", "nvidia-gone", "other"]
        } else if *directory == self.config.imex_channel_host_path && self.has(6) {
            &["channel0", "channel1", "channel"]
        } else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let entry = |name: &&str| Entry {
            name: (*name).to_owned(),
            is_directory: false,
        };
        Ok(names.iter().map(entry).collect())
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        let kind = self.what(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Node {
            kind,
            mode: 0o666,
            uid: 0,
            gid: 44,
        })
    }

    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        _name: &str,
        _overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        let Some(NodeKind::File) = self.what(specification) else {
            return Err("it is not there".to_owned());
        };
        let node = CdiNode {
            path: Some(self.config.device_host_path.join("nvidia0")),
            major: None,
        };
        Ok(Arc::new([node]))
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        Arc::new(self.has(7).then_some(195).into_iter().collect())
    }
}
