//! The messages' headers that go by on a socket.

use nri_proto::wire::{FrameHeader, MessageHeader, PLUGIN_CONNECTION, RUNTIME_CONNECTION};

/// Follows the bytes of one direction of a socket. Frames of logical connections that NRI does not use are passed over.
#[derive(Debug, Default)]
pub(super) struct Headers {
    /// What has come of a frame's header.
    partial: Vec<u8>,
    /// Whose the frame's bytes are.
    connection: u32,
    /// How many of them are still to come.
    frame: usize,
    plugin: Message,
    runtime: Message,
}

/// The message that is on its way over a logical connection.
#[derive(Debug, Default)]
struct Message {
    partial: Vec<u8>,
    /// How many bytes of the body are still to come.
    body: usize,
}

impl Headers {
    /// Takes bytes off the front of `bytes` until a message's header is complete, and says on which logical
    /// connection; `None` once they are used up.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Option<(u32, MessageHeader)> {
        while !bytes.is_empty() {
            if self.frame == 0 {
                if let Some(frame) = take(bytes, &mut self.partial).map(FrameHeader::decode) {
                    self.frame = frame.length as usize;
                    self.connection = frame.connection;
                }
                continue;
            }
            let (mut now, _) = bytes.split_at(self.frame.min(bytes.len()));
            let offered = now.len();
            let header = match self.connection {
                PLUGIN_CONNECTION => self.plugin.next(&mut now),
                RUNTIME_CONNECTION => self.runtime.next(&mut now),
                _ => {
                    now = &[];
                    None
                }
            };
            let taken = offered - now.len();
            self.frame -= taken;
            *bytes = &bytes[taken..];
            if let Some(header) = header {
                return Some((self.connection, header));
            }
        }
        None
    }
}

impl Message {
    fn next(&mut self, bytes: &mut &[u8]) -> Option<MessageHeader> {
        while !bytes.is_empty() {
            if self.body > 0 {
                let now = self.body.min(bytes.len());
                self.body -= now;
                *bytes = &bytes[now..];
            } else if let Some(header) = take(bytes, &mut self.partial).map(MessageHeader::decode) {
                self.body = header.length as usize;
                return Some(header);
            }
        }
        None
    }
}

/// Moves bytes to `partial` until that is a whole header, and gives the header.
fn take<const LENGTH: usize>(from: &mut &[u8], partial: &mut Vec<u8>) -> Option<[u8; LENGTH]> {
    let (now, later) = from.split_at((LENGTH - partial.len()).min(from.len()));
    partial.extend_from_slice(now);
    *from = later;
    let header = partial.as_slice().try_into().ok()?;
    partial.clear();
    Some(header)
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};
    use nri_proto::wire::{self, RESPONSE, Split};

    use super::*;

    fn frames(stream: u32, body: usize, split: Split) -> Bytes {
        let body = Bytes::from(vec![7; body]);
        let message = wire::Message {
            stream,
            kind: RESPONSE,
            flags: 0,
            body,
        };
        message.frames(RUNTIME_CONNECTION, split)
    }

    fn seen(bytes: &[u8], at_a_time: usize) -> Vec<(u32, u32)> {
        let mut headers = Headers::default();
        let mut seen = Vec::new();
        for mut part in bytes.chunks(at_a_time) {
            while let Some((_, header)) = headers.next(&mut part) {
                seen.push((header.stream, header.length));
            }
        }
        seen
    }

    #[test]
    fn what_comes_on_other_logical_connections_is_passed_over() {
        let message = wire::Message {
            stream: 1,
            kind: RESPONSE,
            flags: 0,
            body: Bytes::from_static(&[7; 100]),
        };
        let mut bytes = BytesMut::new();
        bytes.extend(message.frames(3, Split::CONTAINERD));
        bytes.extend(frames(5, 3, Split::CONTAINERD));
        assert_eq!(seen(&bytes, 1), [(5, 3)]);
    }

    #[test]
    fn headers_are_found_however_the_bytes_come() {
        let mut bytes = BytesMut::new();
        bytes.extend(frames(1, 100_000, Split::CONTAINERD));
        bytes.extend(frames(3, 0, Split::CONTAINERD));
        bytes.extend(frames(5, 3, Split::every(1)));
        bytes.extend(frames(7, 4087, Split::every(usize::MAX)));
        let expected = [(1, 100_000), (3, 0), (5, 3), (7, 4087)];
        for at_a_time in [1, 7, 4096, usize::MAX] {
            assert_eq!(seen(&bytes, at_a_time), expected, "{at_a_time} at a time");
        }
    }
}
