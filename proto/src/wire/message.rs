//! ttRPC messages: a header of ten bytes and a body.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message as _;

use super::envelope;
use super::mux::Split;

/// The longest body of a message, in bytes.
pub const MAX_BODY: usize = 4 << 20;

/// The type of a message that asks.
pub const REQUEST: u8 = 1;

/// The type of a message that answers.
pub const RESPONSE: u8 = 2;

/// What precedes the body of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageHeader {
    /// How many bytes the body has.
    pub length: u32,
    /// Which request the message is, or answers. A client's are odd and rise.
    pub stream: u32,
    /// [`REQUEST`], [`RESPONSE`], or something that NRI does not use.
    pub kind: u8,
    /// 0 in everything that NRI sends.
    pub flags: u8,
}

impl MessageHeader {
    /// The header's own length in bytes.
    pub const LEN: usize = 10;

    /// The header as it travels: length and stream big-endian, then type and flags.
    #[must_use]
    pub fn encode(self) -> [u8; Self::LEN] {
        let [l0, l1, l2, l3] = self.length.to_be_bytes();
        let [s0, s1, s2, s3] = self.stream.to_be_bytes();
        [l0, l1, l2, l3, s0, s1, s2, s3, self.kind, self.flags]
    }

    /// Reads a header. Every value is one.
    #[must_use]
    pub fn decode(bytes: [u8; Self::LEN]) -> Self {
        let [l0, l1, l2, l3, s0, s1, s2, s3, kind, flags] = bytes;
        Self {
            length: u32::from_be_bytes([l0, l1, l2, l3]),
            stream: u32::from_be_bytes([s0, s1, s2, s3]),
            kind,
            flags,
        }
    }
}

/// One message, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which request the message is, or answers.
    pub stream: u32,
    /// [`REQUEST`], [`RESPONSE`], or something that NRI does not use.
    pub kind: u8,
    /// 0 in everything that NRI sends.
    pub flags: u8,
    /// The envelope's bytes.
    pub body: Bytes,
}

impl Message {
    /// A message that asks.
    #[must_use]
    pub fn request(stream: u32, envelope: &envelope::Request) -> Self {
        Self {
            stream,
            kind: REQUEST,
            flags: 0,
            body: envelope.encode_to_vec().into(),
        }
    }

    /// A message that answers.
    #[must_use]
    pub fn response(stream: u32, envelope: &envelope::Response) -> Self {
        Self {
            stream,
            kind: RESPONSE,
            flags: 0,
            body: envelope.encode_to_vec().into(),
        }
    }

    /// Header and body, as they travel inside a logical connection.
    ///
    /// # Panics
    ///
    /// On a body of 4 GiB or more, which the header's length cannot say.
    #[must_use]
    pub fn encode(&self) -> BytesMut {
        let length = u32::try_from(self.body.len()).expect("a message is shorter than 4 GiB");
        let header = MessageHeader {
            length,
            stream: self.stream,
            kind: self.kind,
            flags: self.flags,
        };
        let mut out = BytesMut::with_capacity(MessageHeader::LEN + self.body.len());
        out.put_slice(&header.encode());
        out.put_slice(&self.body);
        out
    }

    /// The frames of `connection` that carry the message, as they travel on the socket.
    #[must_use]
    pub fn frames(&self, connection: u32, split: Split) -> Bytes {
        let mut out = BytesMut::new();
        split.put(&mut out, connection, &self.encode());
        out.freeze()
    }
}
