//! What precedes the body of each ttRPC message.

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
