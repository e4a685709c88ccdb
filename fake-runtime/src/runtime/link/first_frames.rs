//! containerd's rule for what plugins send: the first frame of a message holds at most 4096 bytes.

use std::io;

use nri_proto::wire::{FrameHeader, MessageHeader, Split};

/// Follows a plugin's bytes as far as the rule needs.
#[derive(Debug, Default)]
pub(super) struct FirstFrames {
    /// What has come of a frame's header.
    header: Vec<u8>,
    /// How many bytes of the frame are still to come.
    frame: usize,
    /// Whose they are.
    connection: u32,
    /// Of each logical connection, what stands between its messages.
    messages: std::collections::BTreeMap<u32, Message>,
}

/// A message that is on its way over one logical connection.
#[derive(Debug, Default)]
struct Message {
    header: Vec<u8>,
    /// How many bytes of its body are still to come.
    body: usize,
}

impl FirstFrames {
    /// Takes the next bytes of the socket.
    ///
    /// # Errors
    ///
    /// A first frame over the limit.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.frame == 0 {
                take(&mut bytes, &mut self.header, FrameHeader::LEN);
                if let Ok(header) = <[u8; FrameHeader::LEN]>::try_from(&self.header[..]) {
                    self.header.clear();
                    self.begin(FrameHeader::decode(header))?;
                }
                continue;
            }
            let (now, later) = bytes.split_at(self.frame.min(bytes.len()));
            self.frame -= now.len();
            self.messages.entry(self.connection).or_default().read(now);
            bytes = later;
        }
        Ok(())
    }

    fn begin(&mut self, frame: FrameHeader) -> io::Result<()> {
        self.frame = frame.length as usize;
        self.connection = frame.connection;
        let most = Split::CONTAINERD.first;
        let first = self
            .messages
            .entry(frame.connection)
            .or_default()
            .is_at_start();
        if first && self.frame > most {
            let why = format!(
                "the first frame of a message has {} bytes, and containerd takes {most}",
                self.frame
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        Ok(())
    }
}

impl Message {
    fn is_at_start(&self) -> bool {
        self.header.is_empty() && self.body == 0
    }

    fn read(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.body == 0 {
                take(&mut bytes, &mut self.header, MessageHeader::LEN);
                if let Ok(header) = <[u8; MessageHeader::LEN]>::try_from(&self.header[..]) {
                    self.header.clear();
                    self.body = MessageHeader::decode(header).length as usize;
                }
            } else {
                let now = self.body.min(bytes.len());
                self.body -= now;
                bytes = &bytes[now..];
            }
        }
    }
}

/// Moves bytes to the end of `to` until that holds `length`.
fn take(from: &mut &[u8], to: &mut Vec<u8>, length: usize) {
    let (now, later) = from.split_at((length - to.len()).min(from.len()));
    to.extend_from_slice(now);
    *from = later;
}

#[cfg(test)]
mod tests {
    use bytes::{Bytes, BytesMut};
    use nri_proto::wire::{Message, RESPONSE, RUNTIME_CONNECTION};

    use super::*;

    fn frames(body: usize, split: Split) -> BytesMut {
        let message = Message {
            stream: 1,
            kind: RESPONSE,
            flags: 0,
            body: Bytes::from(vec![7; body]),
        };
        BytesMut::from(&message.frames(RUNTIME_CONNECTION, split)[..])
    }

    fn read(bytes: &[u8], at_a_time: usize) -> io::Result<()> {
        let mut frames = FirstFrames::default();
        bytes
            .chunks(at_a_time)
            .try_for_each(|part| frames.read(part))
    }

    #[test]
    fn a_long_frame_may_follow_a_short_first_one() {
        let mut bytes = frames(100_000, Split::CONTAINERD);
        bytes.extend(frames(0, Split::CONTAINERD));
        bytes.extend(frames(4086, Split::CONTAINERD));
        for at_a_time in [1, 7, 4096, usize::MAX] {
            read(&bytes, at_a_time).unwrap();
        }
    }

    #[test]
    fn a_long_first_frame_is_refused_after_any_number_of_messages() {
        for before in 0..3 {
            let mut bytes = BytesMut::new();
            for _ in 0..before {
                bytes.extend(frames(5000, Split::every(9)));
            }
            bytes.extend(frames(4087, Split::every(usize::MAX)));
            for at_a_time in [1, 4096, usize::MAX] {
                let error = read(&bytes, at_a_time).unwrap_err().to_string();
                assert_eq!(
                    error,
                    "the first frame of a message has 4097 bytes, and containerd takes 4096"
                );
            }
        }
    }
}
