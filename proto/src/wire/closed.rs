//! Reading a connection to its end.

use std::io;

use super::demux::FrameTooLong;

/// How much is read at once. Much larger than an ordinary request; a page that is never filled costs nothing.
pub const READ_BUFFER: usize = 64 << 10;

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum Closed {
    /// The peer closed it, between two messages.
    #[error("the peer closed the connection")]
    Peer,
    /// The peer closed it, or died, in the middle of a message.
    #[error("the peer closed the connection in the middle of a message")]
    Truncated,
    /// This side closed it: as it was asked to.
    #[error("this side closed the connection")]
    Stopped,
    /// The peer sends requests faster than it takes their answers.
    #[error("the peer left too many requests unanswered")]
    Flooded,
    /// The peer does not speak NRI's mux.
    #[error(transparent)]
    Frame(#[from] FrameTooLong),
    /// The socket failed.
    #[error("the socket failed: {0}")]
    Io(#[from] io::Error),
}
