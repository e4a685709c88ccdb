//! What a socket's messages may not do, seen from the runtime's end.

use std::collections::BTreeSet;
use std::io;

use nri_proto::wire::{FrameHeader, PLUGIN_CONNECTION, REQUEST, RESPONSE, Split};

use super::headers::{Headers, Seen};

/// Follows both directions of a socket.
#[derive(Debug, Default)]
pub(super) struct Streams {
    sent: Headers,
    received: Headers,
    /// The stream ids of requests that the plugin has not answered yet.
    open: BTreeSet<u32>,
}

impl Streams {
    /// Takes the next bytes to the plugin.
    pub(super) fn send(&mut self, mut bytes: &[u8]) {
        while let Some(seen) = self.sent.next(&mut bytes) {
            if let Seen::Message {
                connection: PLUGIN_CONNECTION,
                header,
            } = seen
                && header.kind == REQUEST
            {
                self.open.insert(header.stream);
            }
        }
    }

    /// Takes the next bytes from the plugin, and gives the stream ids of answers to what was never asked.
    ///
    /// # Errors
    ///
    /// A first frame that is longer than containerd takes.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> io::Result<Vec<u32>> {
        let mut strays = Vec::new();
        while let Some(seen) = self.received.next(&mut bytes) {
            match seen {
                Seen::FirstFrame(frame) => check_length(frame)?,
                Seen::Message {
                    connection: PLUGIN_CONNECTION,
                    header,
                } if header.kind == RESPONSE && !self.open.remove(&header.stream) => {
                    strays.push(header.stream);
                }
                Seen::Message { .. } => {}
            }
        }
        Ok(strays)
    }
}

fn check_length(frame: FrameHeader) -> io::Result<()> {
    let most = Split::CONTAINERD.first;
    if frame.length as usize <= most {
        return Ok(());
    }
    let why = format!(
        "the first frame of a message has {} bytes, and containerd takes {most}",
        frame.length
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nri_proto::wire::Message;

    use super::*;

    fn message(stream: u32, kind: u8, body: usize, split: Split) -> Bytes {
        let body = Bytes::from(vec![0; body]);
        Message {
            stream,
            kind,
            flags: 0,
            body,
        }
        .frames(PLUGIN_CONNECTION, split)
    }

    #[test]
    fn an_answer_is_a_stray_unless_it_was_asked_for_and_not_yet_given() {
        let mut streams = Streams::default();
        streams.send(&message(1, REQUEST, 9, Split::CONTAINERD));
        streams.send(&message(3, REQUEST, 9, Split::CONTAINERD));
        let mut answer = |stream| {
            streams
                .receive(&message(stream, RESPONSE, 5, Split::CONTAINERD))
                .unwrap()
        };
        assert!(answer(3).is_empty());
        assert_eq!(answer(5), [5]);
        assert!(answer(1).is_empty());
        assert_eq!(answer(1), [1]);
    }

    #[test]
    fn a_long_first_frame_is_refused() {
        let mut streams = Streams::default();
        streams
            .receive(&message(1, RESPONSE, 100_000, Split::CONTAINERD))
            .unwrap();
        let frames = message(1, RESPONSE, 4087, Split::every(usize::MAX));
        let error = streams.receive(&frames).unwrap_err().to_string();
        assert_eq!(
            error,
            "the first frame of a message has 4097 bytes, and containerd takes 4096"
        );
    }
}
