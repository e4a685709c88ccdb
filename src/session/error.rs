//! Why a session ends, or did not come about.

use std::time::Duration;

use nri_proto::wire::{CallError, Closed};
use thiserror::Error;

use super::connect::ConnectError;

/// Why the plugin is not, or no longer, registered.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There is no connection to register on.
    #[error(transparent)]
    Connect(#[from] ConnectError),
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
}
