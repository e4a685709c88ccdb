//! The socket's bytes, taken apart into the messages of both logical connections.

#[cfg(test)]
mod tests;

use super::mux::{FrameHeader, MAX_FRAME, PLUGIN_CONNECTION, RUNTIME_CONNECTION};
use super::reassembly::{Event, Reassembly, take};

/// The peer does not speak NRI's mux, or the frame exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a {} of {length} bytes on logical connection {connection} is over the limit of {limit}",
    if *limit < MAX_FRAME { "message's first frame" } else { "frame" }
)]
pub struct FrameTooLong {
    /// The frame's logical connection.
    pub connection: u32,
    /// What its header announced, in bytes.
    pub length: u32,
    /// What it may be: [`MAX_FRAME`], or less where a message begins.
    pub limit: usize,
}

/// Takes what a socket gives, in pieces of any size, and gives back messages.
///
/// It holds at most one unfinished message of each logical connection, and nothing of a frame: memory is
/// bounded by twice [`MAX_BODY`](super::MAX_BODY), whatever the peer sends.
#[derive(Debug)]
pub struct Demux {
    header: [u8; FrameHeader::LEN],
    filled: usize,
    /// What is left of the frame whose header was read last.
    frame: FrameHeader,
    /// The longest frame with which a message may begin.
    first_frame: usize,
    plugin: Reassembly,
    runtime: Reassembly,
}

impl Default for Demux {
    fn default() -> Self {
        Self::new()
    }
}

impl Demux {
    /// Before the first byte.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            header: [0; FrameHeader::LEN],
            filled: 0,
            frame: FrameHeader {
                connection: 0,
                length: 0,
            },
            first_frame: MAX_FRAME,
            plugin: Reassembly::new(),
            runtime: Reassembly::new(),
        }
    }

    /// The same, refusing a message whose first frame is longer than this.
    #[must_use]
    pub fn first_frame_at_most(mut self, bytes: usize) -> Self {
        self.first_frame = bytes;
        self
    }

    /// Takes bytes off the front of `input` until something is complete, and says on which logical connection;
    /// `None` once `input` is used up. Frames of logical connections that NRI does not use are dropped.
    ///
    /// # Errors
    ///
    /// A frame over [`MAX_FRAME`], or one over the limit where a message begins. The stream cannot be read any
    /// further then.
    pub fn feed(&mut self, input: &mut &[u8]) -> Result<Option<(u32, Event)>, FrameTooLong> {
        while !input.is_empty() {
            if self.frame.length == 0 {
                self.feed_header(input)?;
                continue;
            }
            let FrameHeader { connection, length } = self.frame;
            let (mut bytes, _) = input.split_at(input.len().min(length as usize));
            let offered = bytes.len();
            let event = match connection {
                PLUGIN_CONNECTION => self.plugin.feed(&mut bytes),
                RUNTIME_CONNECTION => self.runtime.feed(&mut bytes),
                _ => {
                    bytes = &[];
                    None
                }
            };
            let taken = take(input, offered - bytes.len()).len();
            self.frame.length -= u32::try_from(taken).expect("no more than the frame had left");
            if let Some(event) = event {
                return Ok(Some((connection, event)));
            }
        }
        Ok(None)
    }

    fn feed_header(&mut self, input: &mut &[u8]) -> Result<(), FrameTooLong> {
        let taken = take(input, FrameHeader::LEN - self.filled);
        self.header[self.filled..self.filled + taken.len()].copy_from_slice(taken);
        self.filled += taken.len();
        if self.filled == FrameHeader::LEN {
            self.filled = 0;
            self.frame = FrameHeader::decode(self.header);
            let FrameHeader { connection, length } = self.frame;
            let limit = match connection {
                PLUGIN_CONNECTION if self.plugin.is_between_messages() => self.first_frame,
                RUNTIME_CONNECTION if self.runtime.is_between_messages() => self.first_frame,
                _ => MAX_FRAME,
            };
            if length as usize > limit {
                return Err(FrameTooLong {
                    connection,
                    length,
                    limit,
                });
            }
        }
        Ok(())
    }

    /// Whether the peer could close here without cutting anything short.
    #[must_use]
    pub fn is_between_messages(&self) -> bool {
        self.filled == 0
            && self.frame.length == 0
            && self.plugin.is_between_messages()
            && self.runtime.is_between_messages()
    }
}
