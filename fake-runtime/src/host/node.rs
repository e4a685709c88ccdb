//! A device node of the host.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};

use serde::Deserialize;

/// What there is to know of a device node. In JSON: `["c", 195, 0, 438]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "(String, i64, i64, u32)")]
pub struct HostNode {
    /// `c`, `b` or `p`.
    pub kind: String,
    /// Major number.
    pub major: i64,
    /// Minor number.
    pub minor: i64,
    /// Permission bits.
    pub mode: u32,
}

impl From<(String, i64, i64, u32)> for HostNode {
    fn from((kind, major, minor, mode): (String, i64, i64, u32)) -> Self {
        Self {
            kind,
            major,
            minor,
            mode,
        }
    }
}

impl HostNode {
    /// What this machine has at the path, if that is a device node.
    ///
    /// Unlike CDI, this follows links: a tree staged without root has links to `/dev/null` for nodes.
    pub fn at(path: &str) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let kind = metadata.file_type();
        let kind = if kind.is_char_device() {
            "c"
        } else if kind.is_block_device() {
            "b"
        } else if kind.is_fifo() {
            "p"
        } else {
            return None;
        };
        Some(Self {
            kind: kind.to_owned(),
            major: rustix::fs::major(metadata.rdev()).into(),
            minor: rustix::fs::minor(metadata.rdev()).into(),
            mode: metadata.mode() & 0o7777,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_device_is_read_with_its_numbers() {
        let null = HostNode::at("/dev/null").unwrap();
        assert_eq!((null.kind.as_str(), null.major, null.minor), ("c", 1, 3));
    }

    #[test]
    fn a_directory_and_a_missing_path_are_no_device() {
        assert_eq!(HostNode::at("/"), None);
        assert_eq!(HostNode::at("/no/such/device"), None);
    }
}
