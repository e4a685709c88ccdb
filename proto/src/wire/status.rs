//! How a call ends other than well: gRPC's codes, of which ttRPC uses a few.

use std::fmt;

/// A status code, by gRPC's numbers. Codes without a name here are passed on as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    /// It went well.
    pub const OK: Self = Self(0);
    /// The caller gave up.
    pub const CANCELLED: Self = Self(1);
    /// The handler failed; what a Go handler's plain error becomes.
    pub const UNKNOWN: Self = Self(2);
    /// The request makes no sense: undecodable, or a stream id that cannot be used.
    pub const INVALID_ARGUMENT: Self = Self(3);
    /// The answer would come too late.
    pub const DEADLINE_EXCEEDED: Self = Self(4);
    /// A message is too large, or too much is unanswered.
    pub const RESOURCE_EXHAUSTED: Self = Self(8);
    /// No such service, or no such method in it.
    pub const UNIMPLEMENTED: Self = Self(12);
    /// The server broke.
    pub const INTERNAL: Self = Self(13);
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OK => out.write_str("ok"),
            Self::CANCELLED => out.write_str("cancelled"),
            Self::UNKNOWN => out.write_str("unknown"),
            Self::INVALID_ARGUMENT => out.write_str("invalid argument"),
            Self::DEADLINE_EXCEEDED => out.write_str("deadline exceeded"),
            Self::RESOURCE_EXHAUSTED => out.write_str("resource exhausted"),
            Self::UNIMPLEMENTED => out.write_str("unimplemented"),
            Self::INTERNAL => out.write_str("internal"),
            Self(number) => write!(out, "code {number}"),
        }
    }
}

/// Why a call failed, as its server says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Status {
    /// The kind of failure.
    pub code: Code,
    /// For people. containerd shows it where it refuses a container.
    pub message: String,
}

impl Status {
    /// A failure of the given kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
