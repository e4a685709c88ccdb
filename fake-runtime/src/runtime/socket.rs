//! The socket's path and who makes and removes its file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, shutdown,
    socket_with,
};
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};

/// `sun_path` of Linux, with its closing zero byte.
const MAX_PATH: usize = 108;

/// A socket cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The kernel takes no path that long.
    #[error("the socket path {} has {} bytes: a unix socket's path must have fewer than {MAX_PATH}", .0.display(), .0.as_os_str().len())]
    PathTooLong(PathBuf),
    /// Somebody listens there: containerd itself, or another of these.
    #[error("cannot listen on {}: somebody does already, take another path or end them first", .0.display())]
    InUse(PathBuf),
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
    pub(super) fn listen(&self) -> Result<Listener, SocketError> {
        use std::os::unix::fs::FileTypeExt as _;

        if self.path.as_os_str().len() >= MAX_PATH {
            return Err(SocketError::PathTooLong(self.path.clone()));
        }
        let failed = |source| SocketError::Io {
            path: self.path.clone(),
            source,
        };
        let left = fs::symlink_metadata(&self.path);
        if left.is_ok_and(|left| left.file_type().is_socket()) {
            if is_live(&self.path).map_err(failed)? {
                return Err(SocketError::InUse(self.path.clone()));
            }
            fs::remove_file(&self.path).map_err(failed)?;
        }
        UnixListener::bind(&self.path).map(Listener).map_err(failed)
    }
}

/// Nobody listens any more once it is dropped, even while a child that was just forked holds a copy of the descriptor.
#[derive(Debug)]
pub(super) struct Listener(UnixListener);

impl Listener {
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.0.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Fails for no listening socket.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

/// Whether somebody listens on a socket. Whoever does not answer at once is there, too.
fn is_live(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let connected = connect(&probe, &SocketAddrUnix::new(path)?);
    Ok(connected != Err(Errno::CONNREFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_on_which_somebody_listens_is_left_to_them() {
        let dir = tempfile::tempdir().unwrap();
        let socket = Socket::at(dir.path().join("nri.sock"));
        let theirs = socket.listen().unwrap();
        let refused = socket.listen().unwrap_err();
        assert!(matches!(refused, SocketError::InUse(_)), "{refused}");
        UnixStream::connect(socket.path()).await.unwrap();
        drop(theirs);
    }

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let socket = Socket::at(dir.path().join("nri.sock"));
        drop(socket.listen().unwrap());
        assert!(socket.path().exists());
        socket.listen().unwrap();
    }

    #[tokio::test]
    async fn a_listener_that_a_forked_child_still_holds_is_gone() {
        use std::os::fd::AsFd as _;

        let dir = tempfile::tempdir().unwrap();
        let socket = Socket::at(dir.path().join("nri.sock"));
        let listener = socket.listen().unwrap();
        let _childs = listener.0.as_fd().try_clone_to_owned().unwrap();
        drop(listener);
        socket.listen().unwrap();
    }
}
