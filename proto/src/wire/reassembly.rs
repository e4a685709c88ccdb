//! One logical connection's stream, put together again into messages.

use bytes::{Bytes, BytesMut};

use super::header::{MAX_BODY, MessageHeader};
use super::message::Message;

/// From this length on, a body gets an allocation that goes back to the kernel when it is dropped.
const LARGE_BODY: usize = 128 << 10;

/// More than glibc ever serves from its heap: its threshold for a mapping of its own grows with every mapping
/// that is freed, up to 32 MiB, and below it a freed body would stay with the process. Only what is written
/// becomes memory; the rest is address space.
const OWN_MAPPING: usize = (32 << 20) + 1;

/// What a logical connection's stream brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A whole message.
    Message(Message),
    /// The header of a message whose body is over [`MAX_BODY`]; the body will be skipped.
    TooLarge(MessageHeader),
}

/// Takes a stream in pieces of any size and gives back its messages.
#[derive(Debug)]
pub(super) struct Reassembly {
    state: State,
}

#[derive(Debug)]
enum State {
    Header {
        bytes: [u8; MessageHeader::LEN],
        filled: usize,
    },
    Body {
        header: MessageHeader,
        bytes: BytesMut,
    },
    Skip {
        left: usize,
    },
}

impl State {
    const START: Self = Self::Header {
        bytes: [0; MessageHeader::LEN],
        filled: 0,
    };
}

impl Reassembly {
    pub(super) const fn new() -> Self {
        Self {
            state: State::START,
        }
    }

    /// Whether the stream stands between two messages.
    pub(super) fn is_between_messages(&self) -> bool {
        matches!(self.state, State::Header { filled: 0, .. })
    }

    /// Takes bytes off the front of `input`, up to the end of the message that they complete or up to its own
    /// end. Where an event is returned, `input` may hold more.
    pub(super) fn feed(&mut self, input: &mut &[u8]) -> Option<Event> {
        loop {
            match &mut self.state {
                State::Header { bytes, filled } => {
                    let taken = take(input, MessageHeader::LEN - *filled);
                    bytes[*filled..*filled + taken.len()].copy_from_slice(taken);
                    *filled += taken.len();
                    if *filled < MessageHeader::LEN {
                        return None;
                    }
                    let header = MessageHeader::decode(*bytes);
                    let length = header.length as usize;
                    if length > MAX_BODY {
                        self.state = State::Skip { left: length };
                        return Some(Event::TooLarge(header));
                    }
                    let capacity = if length < LARGE_BODY {
                        length
                    } else {
                        OWN_MAPPING
                    };
                    self.state = State::Body {
                        header,
                        bytes: BytesMut::with_capacity(capacity),
                    };
                }
                State::Body { header, bytes } => {
                    let length = header.length as usize;
                    bytes.extend_from_slice(take(input, length - bytes.len()));
                    if bytes.len() < length {
                        return None;
                    }
                    let message = whole(*header, std::mem::take(bytes).freeze());
                    self.state = State::START;
                    return Some(Event::Message(message));
                }
                State::Skip { left } => {
                    *left -= take(input, *left).len();
                    if *left > 0 {
                        return None;
                    }
                    self.state = State::START;
                }
            }
        }
    }
}

/// Splits up to `most` bytes off the front of `input`.
pub(super) fn take<'a>(input: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, left) = input.split_at(most.min(input.len()));
    *input = left;
    taken
}

fn whole(header: MessageHeader, body: Bytes) -> Message {
    Message {
        stream: header.stream,
        kind: header.kind,
        flags: header.flags,
        body,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_large_body_gets_a_mapping_of_its_own() {
        for (length, capacity) in [(131_071, 131_071), (131_072, 33_554_433)] {
            let header = MessageHeader {
                length,
                stream: 1,
                kind: 1,
                flags: 0,
            };
            let mut stream = Reassembly::new();
            stream.feed(&mut header.encode().as_slice());
            let State::Body { bytes, .. } = &stream.state else {
                panic!("no body but {:?}", stream.state);
            };
            assert_eq!(bytes.capacity(), capacity);
        }
    }

    proptest! {
        #[test]
        fn a_stream_holds_what_it_was_sent_and_room_for_one_message(
            length in prop_oneof![0..200_000_u32, any::<u32>()],
            sent in 0..200_000_usize,
            read in 1..70_000_usize,
        ) {
            let header = MessageHeader { length, stream: 1, kind: 1, flags: 0 };
            let mut stream = Reassembly::new();
            stream.feed(&mut header.encode().as_slice());
            for mut piece in vec![0; sent].chunks(read) {
                stream.feed(&mut piece);
                if let State::Body { bytes, .. } = &stream.state {
                    prop_assert!(bytes.len() <= sent && bytes.len() < length as usize);
                    prop_assert!(bytes.capacity() <= OWN_MAPPING);
                }
            }
        }
    }
}
