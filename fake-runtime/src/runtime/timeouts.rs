//! How long plugins are given.

use std::time::Duration;

/// How long plugins are given.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// From connecting to registering.
    pub(super) registration: Duration,
    /// From a request to its answer.
    pub(super) request: Duration,
}
