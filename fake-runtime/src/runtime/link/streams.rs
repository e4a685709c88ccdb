//! Which answers on a socket were asked for, seen from the runtime's end.

use std::collections::BTreeSet;

use nri_proto::wire::{PLUGIN_CONNECTION, REQUEST, RESPONSE};

use super::headers::Headers;

/// Follows both directions of a socket, beside the connection that runs on it.
#[derive(Debug, Default)]
pub struct Streams {
    sent: Headers,
    received: Headers,
    /// The stream ids of requests that the plugin has not answered yet.
    open: BTreeSet<u32>,
}

impl Streams {
    /// Takes the next bytes to the plugin.
    pub fn send(&mut self, mut bytes: &[u8]) {
        while let Some((connection, header)) = self.sent.next(&mut bytes) {
            if connection == PLUGIN_CONNECTION && header.kind == REQUEST {
                self.open.insert(header.stream);
            }
        }
    }

    /// Takes the next bytes from the plugin, and gives the stream ids of answers to what was never asked.
    pub fn receive(&mut self, mut bytes: &[u8]) -> Vec<u32> {
        let mut strays = Vec::new();
        while let Some((connection, header)) = self.received.next(&mut bytes) {
            if connection == PLUGIN_CONNECTION
                && header.kind == RESPONSE
                && !self.open.remove(&header.stream)
            {
                strays.push(header.stream);
            }
        }
        strays
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use nri_proto::wire::{Message, Split};

    use super::*;

    fn message(stream: u32, kind: u8) -> Bytes {
        Message {
            stream,
            kind,
            flags: 0,
            body: Bytes::from_static(&[0; 9]),
        }
        .frames(PLUGIN_CONNECTION, Split::CONTAINERD)
    }

    #[test]
    fn an_answer_is_a_stray_unless_it_was_asked_for_and_not_yet_given() {
        let mut streams = Streams::default();
        streams.send(&message(1, REQUEST));
        streams.send(&message(3, REQUEST));
        let mut answer = |stream| streams.receive(&message(stream, RESPONSE));
        assert!(answer(3).is_empty());
        assert_eq!(answer(5), [5]);
        assert!(answer(1).is_empty());
        assert_eq!(answer(1), [1]);
    }
}
