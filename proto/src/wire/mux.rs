//! Mux frames: two logical connections on one socket, and how a message is cut into frames.

use bytes::{BufMut, Bytes, BytesMut};

use super::header::{MAX_BODY, MessageHeader};

/// The logical connection on which the plugin serves and the runtime calls.
pub const PLUGIN_CONNECTION: u32 = 1;

/// The logical connection on which the runtime serves and the plugin calls.
pub const RUNTIME_CONNECTION: u32 = 2;

/// The longest frame that is taken, in bytes after the frame's header: one whole ttRPC message.
pub const MAX_FRAME: usize = MAX_BODY + MessageHeader::LEN;

/// What precedes the bytes of each frame: two big-endian numbers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The logical connection whose stream the frame's bytes continue.
    pub connection: u32,
    /// How many bytes follow.
    pub length: u32,
}

impl FrameHeader {
    /// The header's own length in bytes.
    pub const LEN: usize = 8;

    /// The header as it travels.
    #[must_use]
    pub fn encode(self) -> [u8; Self::LEN] {
        let [c0, c1, c2, c3] = self.connection.to_be_bytes();
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        [c0, c1, c2, c3, l0, l1, l2, l3]
    }

    /// Reads a header. Every value is one; whether its length is acceptable is for [`Demux`](super::Demux).
    #[must_use]
    pub fn decode(bytes: [u8; Self::LEN]) -> Self {
        let [c0, c1, c2, c3, l0, l1, l2, l3] = bytes;
        Self {
            connection: u32::from_be_bytes([c0, c1, c2, c3]),
            length: u32::from_be_bytes([l0, l1, l2, l3]),
        }
    }
}

/// Appends one frame to `out`, whatever the connection and the length.
///
/// # Panics
///
/// On 4 GiB or more, which the header's length cannot say.
pub fn put_frame(out: &mut BytesMut, connection: u32, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a frame is shorter than 4 GiB");
    out.reserve(FrameHeader::LEN + bytes.len());
    out.put_slice(&FrameHeader { connection, length }.encode());
    out.put_slice(bytes);
}

/// How the bytes of one ttRPC message, header included, are cut into frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The most bytes in the message's first frame.
    pub first: usize,
    /// The most bytes in each further one.
    pub rest: usize,
}

impl Split {
    /// What containerd takes: it reads at most 4096 bytes of a message at first and closes the connection on a
    /// longer first frame, and it queues at most 256 frames, so that the rest has to be one frame.
    pub const CONTAINERD: Self = Self {
        first: 4096,
        rest: MAX_FRAME,
    };

    /// Frames of at most `bytes` each.
    #[must_use]
    pub const fn every(bytes: usize) -> Self {
        Self {
            first: bytes,
            rest: bytes,
        }
    }

    /// The frames of `connection` that carry a message with `envelope` as its body.
    ///
    /// # Panics
    ///
    /// On an envelope of 4 GiB or more, whose length no header can say.
    #[must_use]
    pub fn frames(
        self,
        connection: u32,
        stream: u32,
        kind: u8,
        envelope: &impl prost::Message,
    ) -> Bytes {
        let length = envelope.encoded_len();
        let header = MessageHeader {
            length: u32::try_from(length).expect("a message is shorter than 4 GiB"),
            stream,
            kind,
            flags: 0,
        };
        let whole = MessageHeader::LEN + length;
        let mut message = Vec::with_capacity(FrameHeader::LEN + whole);
        // Where one frame is enough, as it is for nearly every message, it is written in place.
        let is_one_frame = whole <= self.first.max(1);
        if is_one_frame {
            let length = u32::try_from(whole).expect("no more than the first frame holds");
            message.extend(FrameHeader { connection, length }.encode());
        }
        message.extend(header.encode());
        envelope.encode_raw(&mut message);
        if is_one_frame {
            return message.into();
        }
        let mut frames = BytesMut::with_capacity(2 * FrameHeader::LEN + whole);
        self.put(&mut frames, connection, &message);
        frames.freeze()
    }

    /// Appends `message` to `out`, cut into frames of `connection`. A limit of 0 counts as 1.
    pub fn put(self, out: &mut BytesMut, connection: u32, message: &[u8]) {
        let (first, rest) = message.split_at(self.first.max(1).min(message.len()));
        put_frame(out, connection, first);
        for frame in rest.chunks(self.rest.max(1)) {
            put_frame(out, connection, frame);
        }
    }
}

/// The logical connection that messages travel on, and how they are cut for it.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug)]
pub(super) struct Framing {
    pub(super) connection: u32,
    pub(super) split: Split,
}
