//! NRI on one socket: two logical connections in mux frames, each a ttRPC stream.
//!
//! | layer | where |
//! | --- | --- |
//! | frames, and how a message is cut into them | [`FrameHeader`], [`Split`], [`put_frame`] |
//! | messages: a header of ten bytes and a body | [`MessageHeader`], [`Message`] |
//! | bodies: whom a request calls, how a response ended | [`envelope`], [`Status`] |
//! | bytes to messages | [`Demux`] |
//! | a connection, with both its services | [`open`]: [`Caller`], [`Incoming`], [`Driver`] |
//!
//! Plugin and runtime share all of it: they differ in which logical connection is theirs, see [`Side`].

mod caller;
mod calls;
mod demux;
mod driver;
pub mod envelope;
mod incoming;
mod message;
mod mux;
mod outgoing;
mod reassembly;
mod service;
mod status;

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

pub use caller::Caller;
pub use calls::CallError;
pub use demux::{Demux, FrameTooLong};
pub use driver::{Closed, Driver};
pub use incoming::{Incoming, Request};
pub use message::{MAX_BODY, Message, MessageHeader, REQUEST, RESPONSE};
pub use mux::{FrameHeader, MAX_FRAME, PLUGIN_CONNECTION, RUNTIME_CONNECTION, Split, put_frame};
pub use reassembly::Event;
pub use status::{Code, Status};

use calls::Calls;
use mux::Framing;
use service::Service;

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
    const fn longest_first_frame(self) -> usize {
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

/// Starts a connection on `stream`, with messages cut as containerd takes them.
///
/// Nothing moves until [`Driver::run`] is polled. Keep the [`Incoming`]: dropping it closes the connection.
pub fn open<S: AsyncRead + AsyncWrite>(stream: S, side: Side) -> (Caller, Incoming, Driver<S>) {
    open_with(stream, side, Split::CONTAINERD)
}

/// The same, with messages cut in another way.
pub fn open_with<S: AsyncRead + AsyncWrite>(
    stream: S,
    side: Side,
    split: Split,
) -> (Caller, Incoming, Driver<S>) {
    let (outgoing, queued) = outgoing::queue();
    let (requests, received) = mpsc::unbounded_channel();
    let calls = Arc::new(Calls::new(side));
    let framing = |connection| Framing { connection, split };
    let service = Service::new(requests, outgoing.clone(), framing(side.serves()));
    (
        Caller::new(Arc::clone(&calls), outgoing, framing(side.calls())),
        Incoming::new(received),
        Driver::new(stream, side, service, calls, queued),
    )
}
