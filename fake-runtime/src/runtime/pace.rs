//! How slowly a socket is read.

use std::time::Duration;

/// How slowly a socket is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// At most so many bytes at a time.
    pub bytes: usize,
    /// And then a pause.
    pub pause: Duration,
}
