//! What comes of a request: a decision, or why there is none.

use std::time::Duration;

use thiserror::Error;

use crate::convert;
use crate::decide::{Decision, Selection};

/// Why there is no decision.
#[derive(Debug, Error)]
pub(super) enum Failure {
    #[error("undecodable request: {0}")]
    Undecodable(#[from] convert::Unreadable),
    #[error("panic: {0}")]
    Panicked(String),
    #[error("the adjustment is larger than a message can be")]
    TooLarge,
    #[error("the host's file system did not answer within {}ms", .0.as_millis())]
    TimedOut(Duration),
}

impl Failure {
    /// The kind of failure without what varies, as a metric's label.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "undecodable request",
            Self::Panicked(_) => "panic",
            Self::TooLarge => "adjustment too large",
            Self::TimedOut(_) => "file system did not answer",
        }
    }
}

/// A decision and what led to it.
pub(super) struct Decided {
    pub(super) selection: Selection,
    pub(super) decision: Decision,
    /// What kind of reason closed the staging gate, if one did.
    pub(super) closed: Option<&'static str>,
}
