//! The reading end of a connection.

use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::Arc;

use nri_proto::wire::{self, Asked, CallError, Closed, Demux, READ_BUFFER, Side};

use bytes::Bytes;

use crate::connection::Connection;

/// What the runtime sent.
#[derive(Debug)]
pub(crate) enum Read {
    /// A request, or what is to be refused as one.
    Asked(Asked),
    /// The answer to a call.
    Answered(u32, Result<Bytes, CallError>),
}

/// Whoever has it reads the connection; it is one of a kind, and moves from thread to thread.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) connection: Arc<Connection>,
    demux: Demux,
    buffer: Box<[u8]>,
    unread: Range<usize>,
}

impl Reader {
    pub(crate) fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            demux: Demux::new().first_frame_at_most(Side::Plugin.longest_first_frame()),
            // A page that is never filled costs nothing.
            buffer: vec![0; READ_BUFFER].into(),
            unread: 0..0,
        }
    }

    /// Reads on to the next request or answer; an error is why there is none any more.
    pub(crate) fn next(&mut self) -> Result<Read, Closed> {
        loop {
            let mut input = &self.buffer[self.unread.clone()];
            let event = self.demux.feed(&mut input)?;
            self.unread.start = self.unread.end - input.len();
            match event {
                Some((connection, event)) if connection == Side::Plugin.serves() => {
                    if let Some(asked) = Asked::by(event) {
                        return Ok(Read::Asked(asked));
                    }
                }
                Some((_, event)) => {
                    if let Some((stream, answer)) = wire::answer_given(event, Side::Plugin) {
                        return Ok(Read::Answered(stream, answer));
                    }
                }
                None => self.fill()?,
            }
        }
    }

    fn fill(&mut self) -> Result<(), Closed> {
        let length = loop {
            match self.connection.socket().read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.unread = 0..length;
        match length {
            0 if self.demux.is_between_messages() => Err(Closed::Peer),
            0 => Err(Closed::Truncated),
            _ => Ok(()),
        }
    }
}
