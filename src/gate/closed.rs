//! Why the gate is closed.

use std::path::PathBuf;

use thiserror::Error;

/// Why the gate is closed.
#[derive(Clone, Debug, Error)]
pub enum Closed {
    /// There is no lock to take.
    #[error("staging lock unavailable: {}: {cause}", path.display())]
    LockUnavailable {
        /// The lock file.
        path: PathBuf,
        /// What opening or locking it met with.
        cause: String,
    },
    /// The node agent holds the lock.
    #[error("node agent is staging")]
    Staging,
    /// Nobody answered, or not in time.
    #[error("node agent unreachable: {0}")]
    Unreachable(String),
    /// The node agent answered with something else than 200.
    #[error("node agent has not staged the driver tree")]
    NotStaged,
}

impl Closed {
    /// The kind of reason without what varies, as a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LockUnavailable { .. } => "staging lock unavailable",
            Self::Staging => "node agent is staging",
            Self::Unreachable(_) => "node agent unreachable",
            Self::NotStaged => "node agent has not staged the driver tree",
        }
    }
}
