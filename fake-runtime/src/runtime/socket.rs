//! The socket's path and who makes and removes its file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::net::UnixListener;

/// `sun_path` of Linux, with its closing zero byte.
const MAX_PATH: usize = 108;

/// A socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The kernel takes no path that long.
    #[error("the socket path {} has {} bytes: a unix socket's path must have fewer than {MAX_PATH}", .0.display(), .0.as_os_str().len())]
    PathTooLong(PathBuf),
    /// The path is taken, its directory is missing, or the like.
    #[error("cannot listen on {path}: {source}")]
    Io {
        /// The socket's path, or the directory for one.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
}

#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    /// Goes with a private socket, and takes its file along.
    _dir: Option<TempDir>,
}

impl Socket {
    /// A socket in a directory of its own.
    pub(super) fn private() -> Result<Self, SocketError> {
        let dir = tempfile::Builder::new()
            .prefix("nri-")
            .tempdir()
            .map_err(|source| SocketError::Io {
                path: std::env::temp_dir(),
                source,
            })?;
        Ok(Self {
            path: dir.path().join("nri.sock"),
            _dir: Some(dir),
        })
    }

    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, _dir: None }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Listens on the path, in place of a socket that was left there.
    pub(super) fn listen(&self) -> Result<UnixListener, SocketError> {
        use std::os::unix::fs::FileTypeExt as _;

        if self.path.as_os_str().len() >= MAX_PATH {
            return Err(SocketError::PathTooLong(self.path.clone()));
        }
        let left = fs::symlink_metadata(&self.path);
        let listen = || {
            if left.is_ok_and(|left| left.file_type().is_socket()) {
                fs::remove_file(&self.path)?;
            }
            UnixListener::bind(&self.path)
        };
        listen().map_err(|source| SocketError::Io {
            path: self.path.clone(),
            source,
        })
    }
}
