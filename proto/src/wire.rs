//! NRI on one socket: two logical connections in mux frames, each a ttRPC stream.
//!
//! | layer | where |
//! | --- | --- |
//! | frames, and how a message is cut into them | [`FrameHeader`], [`Split`], [`put_frame`] |
//! | messages: a header of ten bytes and a body | [`MessageHeader`], [`Message`] |
//! | bodies: whom a request calls, how a response ended | [`envelope`], [`Status`] |
//! | bytes to messages | [`Demux`] |
//! | what a message asks or answers, and writing an answer | [`Asked`], [`answer_given`], [`answer_frames`] |
//! | a connection as futures, with both its services (feature `tokio`) | `open`: `Caller`, `Incoming`, `Driver` |
//!
//! Plugin and runtime share all of it: they differ in which logical connection is theirs, see [`Side`].

mod answer;
mod asked;
mod closed;
mod demux;
pub mod envelope;
mod header;
mod message;
mod mux;
mod reassembly;
mod status;

#[cfg(feature = "tokio")]
mod caller;
#[cfg(feature = "tokio")]
mod calls;
#[cfg(feature = "tokio")]
mod driver;
#[cfg(feature = "tokio")]
mod incoming;
#[cfg(feature = "tokio")]
mod open;
#[cfg(feature = "tokio")]
mod outgoing;
#[cfg(feature = "tokio")]
mod service;

pub use answer::{CallError, frames as answer_frames, given as answer_given};
pub use asked::{Asked, MAX_UNANSWERED};
pub use closed::{Closed, READ_BUFFER};
pub use demux::{Demux, FrameTooLong};
pub use header::{MAX_BODY, MessageHeader, REQUEST, RESPONSE};
pub use message::Message;
pub use mux::{FrameHeader, MAX_FRAME, PLUGIN_CONNECTION, RUNTIME_CONNECTION, Split, put_frame};
pub use reassembly::Event;
pub use status::{Code, Status};

#[cfg(feature = "tokio")]
pub use {
    caller::Caller,
    driver::Driver,
    incoming::{Incoming, Request},
    open::{open, open_with},
};

/// Which end of the socket this process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Serves [`PLUGIN_CONNECTION`], calls on [`RUNTIME_CONNECTION`].
    Plugin,
    /// The reverse.
    Runtime,
}

impl Side {
    /// The logical connection on which this side answers.
    #[must_use]
    pub const fn serves(self) -> u32 {
        match self {
            Self::Plugin => PLUGIN_CONNECTION,
            Self::Runtime => RUNTIME_CONNECTION,
        }
    }

    /// The logical connection on which this side asks.
    #[must_use]
    pub const fn calls(self) -> u32 {
        match self {
            Self::Plugin => RUNTIME_CONNECTION,
            Self::Runtime => PLUGIN_CONNECTION,
        }
    }

    /// The longest frame with which the peer may begin a message: containerd closes the connection on a longer one.
    #[must_use]
    pub const fn longest_first_frame(self) -> usize {
        match self {
            Self::Plugin => MAX_FRAME,
            Self::Runtime => Split::CONTAINERD.first,
        }
    }

    /// Whether a message of unknown type in place of an answer fails the call: so it does in containerd. A plugin
    /// waits on for the answer.
    const fn minds_unknown_types(self) -> bool {
        matches!(self, Self::Runtime)
    }
}
