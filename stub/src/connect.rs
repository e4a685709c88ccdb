//! How the connection to the runtime comes about.

use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use thiserror::Error;

/// Where a runtime that starts the plugin itself names the socket that it passes on.
pub const SOCKET_VARIABLE: &str = "NRI_PLUGIN_SOCKET";

/// Where it names the plugin.
const NAME_VARIABLE: &str = "NRI_PLUGIN_NAME";

/// Where it numbers the plugin.
const INDEX_VARIABLE: &str = "NRI_PLUGIN_IDX";

/// Under what the runtime knows the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Letters, digits and `_ . + -`.
    pub name: String,
    /// Two digits: the order among the runtime's plugins.
    pub index: String,
}

/// Why there is no connection.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody listens, or nothing is there.
    #[error("cannot connect to the NRI socket {}: {error}; {}", path.display(), mend(error))]
    Socket {
        /// The socket's path.
        path: PathBuf,
        /// What connecting met with.
        error: io::Error,
    },
    /// The runtime's variable holds no number.
    #[error("{SOCKET_VARIABLE} must be the number of an inherited file descriptor, not {0:?}")]
    NotADescriptor(String),
    /// The variable's number is no connection.
    #[error("cannot use the inherited file descriptor {descriptor} of {SOCKET_VARIABLE}: {error}")]
    Inherited {
        /// The number.
        descriptor: i32,
        /// What using it met with.
        error: io::Error,
    },
}

/// What to look at where connecting met with `error`.
fn mend(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "NRI is off in the runtime, or its socket is elsewhere: containerd turns it on with \
             disable = false under [plugins.\"io.containerd.nri.v1.nri\"] in its config.toml"
        }
        // containerd leaves its socket behind.
        io::ErrorKind::ConnectionRefused => "the runtime is down, or came back with NRI turned off",
        _ => "is that the path of the runtime's socket?",
    }
}

/// Where connections to the runtime come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The runtime listens here; a lost connection can be made anew.
    Socket(PathBuf),
    /// The runtime started the plugin and passed on this file descriptor, the only connection there will be.
    Inherited(i32),
}

impl Origin {
    /// The descriptor named by the value of [`SOCKET_VARIABLE`].
    ///
    /// # Errors
    ///
    /// When it names none.
    pub fn inherited(value: &OsStr) -> Result<Self, ConnectError> {
        let text = value.to_string_lossy();
        match text.parse() {
            Ok(descriptor @ 0..) => Ok(Self::Inherited(descriptor)),
            _ => Err(ConnectError::NotADescriptor(text.into_owned())),
        }
    }

    /// Whether the runtime started the plugin: there is no other connection after this one.
    #[must_use]
    pub fn is_prelaunched(&self) -> bool {
        matches!(self, Self::Inherited(_))
    }

    /// Connects, which may wait for as long as the runtime accepts no connection.
    pub(crate) fn connect(&self) -> Result<UnixStream, ConnectError> {
        match self {
            Self::Socket(path) => UnixStream::connect(path).map_err(|error| ConnectError::Socket {
                path: path.clone(),
                error: told_apart(error, path),
            }),
            Self::Inherited(descriptor) => {
                adopt(*descriptor).map_err(|error| ConnectError::Inherited {
                    descriptor: *descriptor,
                    error,
                })
            }
        }
    }
}

/// Where the runtime is and as what to register, for a plugin that the runtime may have started itself: as its
/// variables in the environment say, which `variable` looks up, or else as given.
///
/// # Errors
///
/// The runtime's variable names no descriptor.
pub fn place(
    variable: impl Fn(&str) -> Option<OsString>,
    socket: impl Into<PathBuf>,
    given: Identity,
) -> Result<(Origin, Identity), ConnectError> {
    let variable = |name| variable(name).filter(|value| !value.is_empty());
    let Some(inherited) = variable(SOCKET_VARIABLE) else {
        return Ok((Origin::Socket(socket.into()), given));
    };
    let text = |name| variable(name).map(|value| value.to_string_lossy().into_owned());
    let identity = Identity {
        name: text(NAME_VARIABLE).unwrap_or(given.name),
        index: text(INDEX_VARIABLE).unwrap_or(given.index),
    };
    Ok((Origin::inherited(&inherited)?, identity))
}

/// The kernel says of a path that is no socket what it says of one where nobody listens.
fn told_apart(error: io::Error, path: &Path) -> io::Error {
    let is_other = |it: Metadata| !it.file_type().is_socket();
    if error.kind() == io::ErrorKind::ConnectionRefused && path.metadata().is_ok_and(is_other) {
        return Errno::NOTSOCK.into();
    }
    error
}

/// A number becomes a descriptor one owns only by unsafe code, or as here: the kernel duplicates it, by
/// the call that takes a descriptor from another process. The original stays open, unused, until the
/// process ends, which it does with the connection.
fn adopt(descriptor: i32) -> io::Result<UnixStream> {
    let this = pidfd_open(getpid(), PidfdFlags::empty())?;
    let owned = pidfd_getfd(this, descriptor, PidfdGetfdFlags::empty())?;
    let stream = UnixStream::from(owned);
    // What is no socket shows here, rather than as a connection that ends.
    stream.peer_addr()?;
    // Whoever opened it may have meant it for an event loop.
    stream.set_nonblocking(false)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read as _, Write as _};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn an_inherited_descriptor_is_the_connection() {
        let (ours, runtimes) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let origin = Origin::inherited(OsStr::new(&ours.as_raw_fd().to_string())).unwrap();
        let mut stream = origin.connect().unwrap();
        stream.write_all(b"7").unwrap();
        let mut read = [0];
        (&runtimes).read_exact(&mut read).unwrap();
        assert_eq!(&read, b"7");
    }

    #[test]
    fn an_inherited_descriptor_is_a_number() {
        for value in ["", "three", "-1", "3 ", "99999999999"] {
            let error = Origin::inherited(OsStr::new(value)).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "NRI_PLUGIN_SOCKET must be the number of an inherited file descriptor, not {value:?}"
                )
            );
        }
    }

    #[test]
    fn what_is_no_socket_cannot_be_the_connection() {
        let file = File::open("/dev/null").unwrap();
        let error = Origin::Inherited(file.as_raw_fd()).connect().unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("Socket operation on non-socket (os error 88)"),
            "{error}"
        );
    }

    fn refusal(socket: &Path) -> String {
        let origin = Origin::Socket(socket.to_owned());
        let error = origin.connect().unwrap_err().to_string();
        let told = error.strip_prefix(&format!(
            "cannot connect to the NRI socket {}: ",
            socket.display()
        ));
        told.unwrap_or_else(|| panic!("{error}")).to_owned()
    }

    #[test]
    fn containerd_nri_62_a_missing_socket_is_told_with_how_to_turn_nri_on() {
        assert_eq!(
            refusal(Path::new("/nowhere/nri.sock")),
            "No such file or directory (os error 2); NRI is off in the runtime, or its socket is \
             elsewhere: containerd turns it on with disable = false under \
             [plugins.\"io.containerd.nri.v1.nri\"] in its config.toml"
        );
    }

    #[test]
    fn a_socket_that_a_runtime_left_behind_is_told_from_a_missing_one() {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("nri.sock");
        drop(UnixListener::bind(&socket).unwrap());
        assert_eq!(
            refusal(&socket),
            "Connection refused (os error 111); the runtime is down, or came back with NRI turned off"
        );
    }

    #[test]
    fn what_is_no_socket_is_not_taken_for_a_runtime_that_is_down() {
        assert_eq!(
            refusal(Path::new("/dev/null")),
            "Socket operation on non-socket (os error 88); is that the path of the runtime's socket?"
        );
    }

    #[test]
    fn any_other_failure_to_connect_asks_for_the_path() {
        assert_eq!(
            refusal(Path::new("/dev/null/nri.sock")),
            "Not a directory (os error 20); is that the path of the runtime's socket?"
        );
    }
}
