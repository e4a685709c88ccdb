//! Making a tree of files, links and device nodes below a directory.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, RawMode, makedev, mknodat};
use serde::{Deserialize, Deserializer};

/// The mode of a parent directory that no entry asks for.
const PARENT_MODE: u32 = 0o755;

/// One thing to make, as the vectors spell it.
#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    /// Where, below the tree's root. Missing parents are made with mode 0755.
    pub path: PathBuf,
    /// What.
    #[serde(flatten)]
    pub kind: Kind,
    /// Permission bits, set after making so that no umask takes part. `None` leaves what making gave.
    #[serde(default, deserialize_with = "octal")]
    pub mode: Option<u32>,
    /// Owner; `None` leaves the caller's.
    pub uid: Option<u32>,
    /// Group; `None` leaves the caller's.
    pub gid: Option<u32>,
}

/// What an [`Entry`] is.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Kind {
    /// A directory.
    Dir,
    /// A regular file.
    File {
        /// All that stands in it.
        #[serde(default)]
        content: String,
    },
    /// A named pipe.
    Fifo,
    /// A character device.
    Char {
        /// The driver's number.
        major: u32,
        /// The device's number at its driver.
        minor: u32,
    },
    /// A block device.
    Block {
        /// The driver's number.
        major: u32,
        /// The device's number at its driver.
        minor: u32,
    },
    /// A symbolic link.
    Symlink {
        /// What stands in the link, verbatim.
        target: PathBuf,
    },
}

impl Entry {
    /// An entry of the given kind with the caller's own uid and gid and no particular mode.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, kind: Kind) -> Self {
        Self {
            path: path.into(),
            kind,
            mode: None,
            uid: None,
            gid: None,
        }
    }

    /// The same entry with these permission bits.
    #[must_use]
    pub fn mode(self, mode: u32) -> Self {
        Self {
            mode: Some(mode),
            ..self
        }
    }
}

/// Why a tree could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// Device nodes and foreign owners take privileges that this process does not have.
    #[error("may not make {kind} {path}: run as root with CAP_MKNOD and CAP_CHOWN")]
    NotPermitted {
        /// Where.
        path: PathBuf,
        /// What, in a word or two.
        kind: &'static str,
    },
    /// The file system refused for another reason.
    #[error("cannot make {kind} {path}: {source}")]
    Io {
        /// Where.
        path: PathBuf,
        /// What, in a word or two.
        kind: &'static str,
        /// What the file system said.
        source: io::Error,
    },
}

/// Makes `entries` below `root`, in order. What is there already as it should be stays.
///
/// # Errors
///
/// The first entry that cannot be made ends it; what was made before stays.
pub fn make_tree<'a>(
    root: &Path,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<(), TreeError> {
    for entry in entries {
        let path = root.join(&entry.path);
        make(&path, entry).map_err(|source| {
            let kind = entry.kind.name();
            match source.kind() {
                io::ErrorKind::PermissionDenied => TreeError::NotPermitted { path, kind },
                _ => TreeError::Io { path, kind, source },
            }
        })?;
    }
    Ok(())
}

fn make(path: &Path, entry: &Entry) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        make_dirs(parent)?;
    }
    let made = match &entry.kind {
        Kind::Dir => make_dirs(path),
        Kind::File { content } => fs::write(path, content),
        Kind::Fifo => make_node(path, FileType::Fifo, 0, 0),
        Kind::Char { major, minor } => make_node(path, FileType::CharacterDevice, *major, *minor),
        Kind::Block { major, minor } => make_node(path, FileType::BlockDevice, *major, *minor),
        Kind::Symlink { target } => symlink(target, path),
    };
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && entry.kind.is_at(path) => {}
        made => made?,
    }
    // Owner before mode: a change of owner may clear mode bits.
    if entry.uid.is_some() || entry.gid.is_some() {
        lchown(path, entry.uid, entry.gid)?;
    }
    match entry.mode {
        Some(mode) if !matches!(entry.kind, Kind::Symlink { .. }) => {
            fs::set_permissions(path, Permissions::from_mode(mode))
        }
        _ => Ok(()),
    }
}

fn make_dirs(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        make_dirs(parent)?;
    }
    fs::create_dir(path)?;
    fs::set_permissions(path, Permissions::from_mode(PARENT_MODE))
}

fn make_node(path: &Path, kind: FileType, major: u32, minor: u32) -> io::Result<()> {
    let read_write = Mode::from_raw_mode(0o666 as RawMode);
    Ok(mknodat(CWD, path, kind, read_write, makedev(major, minor))?)
}

impl Kind {
    /// Whether the same link or node is at `path` already.
    fn is_at(&self, path: &Path) -> bool {
        let Ok(there) = fs::symlink_metadata(path) else {
            return false;
        };
        let kind = there.file_type();
        match self {
            Self::Dir | Self::File { .. } => false,
            Self::Fifo => kind.is_fifo(),
            Self::Char { major, minor } => {
                kind.is_char_device() && there.rdev() == makedev(*major, *minor)
            }
            Self::Block { major, minor } => {
                kind.is_block_device() && there.rdev() == makedev(*major, *minor)
            }
            Self::Symlink { target } => fs::read_link(path).is_ok_and(|link| link == *target),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Dir => "directory",
            Self::File { .. } => "file",
            Self::Fifo => "fifo",
            Self::Char { .. } => "character device",
            Self::Block { .. } => "block device",
            Self::Symlink { .. } => "symbolic link",
        }
    }
}

fn octal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    u32::from_str_radix(&text, 8)
        .map(Some)
        .map_err(|_| serde::de::Error::custom(format!("mode {text:?} is not an octal number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_set_whatever_the_umask() {
        let root = tempfile::tempdir().unwrap();
        let entry: Entry =
            serde_json::from_str(r#"{"path": "a/b/pipe", "kind": "fifo", "mode": "0777"}"#)
                .unwrap();
        make_tree(root.path(), [&entry]).unwrap();

        let pipe = fs::metadata(root.path().join("a/b/pipe")).unwrap();
        assert!(pipe.file_type().is_fifo());
        assert_eq!(pipe.mode() & 0o7777, 0o777);
        assert_eq!(
            fs::metadata(root.path().join("a")).unwrap().mode() & 0o7777,
            0o755
        );
    }

    #[test]
    fn a_link_keeps_its_target_verbatim() {
        let root = tempfile::tempdir().unwrap();
        let link = Entry::new(
            "link",
            Kind::Symlink {
                target: "gone/../away".into(),
            },
        );
        make_tree(root.path(), [&link]).unwrap();
        let target = fs::read_link(root.path().join("link")).unwrap();
        assert_eq!(target, PathBuf::from("gone/../away"));
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("a"), "").unwrap();
        let error = make_tree(root.path(), [&Entry::new("a/b", Kind::Dir)]).unwrap_err();
        let path = root.path().join("a/b");
        assert_eq!(
            error.to_string(),
            format!(
                "cannot make directory {}: File exists (os error 17)",
                path.display()
            )
        );
    }

    #[test]
    fn a_mode_that_is_not_octal_is_refused() {
        let error = serde_json::from_str::<Entry>(r#"{"path": "a", "kind": "dir", "mode": "rwx"}"#);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains(r#"mode "rwx" is not an octal number"#)
        );
    }
}
