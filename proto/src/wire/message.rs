//! ttRPC messages, whole.

use bytes::{BufMut, Bytes, BytesMut};
use prost::Message as _;

use super::envelope;
use super::header::{MessageHeader, REQUEST, RESPONSE};
use super::mux::Split;

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
