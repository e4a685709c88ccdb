//! Why a plugin is not, or no longer, registered.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use nri_proto::wire::{CallError, Closed};
use thiserror::Error;

use crate::connect::ConnectError;

/// Why the plugin is not, or no longer, registered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no connection to register on.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Connecting takes too long.
    #[error(
        "cannot connect to the NRI socket {} within {} s: the runtime accepts no connection, or the \
         path lies on a mount that hangs", path.display(), limit.as_secs()
    )]
    NotConnected {
        /// The socket's path.
        path: PathBuf,
        /// How long was waited.
        limit: Duration,
    },
    /// The runtime answered the registration with an error, or did not answer it.
    #[error("cannot register as {index}-{name}: {cause}")]
    Refused {
        /// The index under which the plugin asked to be registered.
        index: String,
        /// The name under which it did.
        name: String,
        /// What came instead of the runtime's consent.
        cause: CallError,
    },
    /// The runtime took the registration and left it at that.
    #[error("the runtime did not configure the plugin within {} s of its registration", .0.as_secs())]
    NotConfigured(Duration),
    /// The connection closed before the plugin was registered.
    #[error("connection closed before the plugin was registered: {0}")]
    ClosedEarly(Closed),
    /// The connection on which the plugin was registered closed.
    #[error("lost the connection to the runtime: {0}")]
    Lost(Closed),
    /// The system gives no thread to serve the connection on.
    #[error("cannot start a thread for the connection to the runtime: {0}")]
    NoThread(io::Error),
}
