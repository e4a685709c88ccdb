use bytes::{Bytes, BytesMut};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::header::{MAX_BODY, MessageHeader, REQUEST, RESPONSE};
use super::super::message::Message;
use super::super::mux::{FrameHeader, MAX_FRAME, Split, put_frame};
use super::super::reassembly::Event;
use super::{Demux, FrameTooLong};

fn message(stream: u32, body: &'static [u8]) -> Message {
    Message {
        stream,
        kind: REQUEST,
        flags: 0,
        body: Bytes::from_static(body),
    }
}

/// Everything that comes of `pieces`, one fed after the other.
fn feed<'a>(demux: &mut Demux, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(u32, Event)> {
    let mut events = Vec::new();
    for mut piece in pieces {
        while let Some(event) = demux.feed(&mut piece).unwrap() {
            events.push(event);
        }
        assert!(piece.is_empty(), "what is fed is used up");
    }
    events
}

/// Two messages on each connection, cut so that their frames take turns, with frames of neither in between.
fn stream() -> (BytesMut, Vec<(u32, Event)>) {
    let messages = [
        message(1, b"first"),
        message(1, b""),
        message(3, b"third"),
        message(3, b"4"),
    ];
    let mut out = BytesMut::new();
    let (one, two) = (messages[0].encode(), messages[1].encode());
    put_frame(&mut out, 1, &one[..7]);
    put_frame(&mut out, 2, &two[..3]);
    put_frame(&mut out, 3, b"nobody reads this");
    put_frame(&mut out, 1, b"");
    put_frame(&mut out, 2, &two[3..]);
    put_frame(&mut out, 1, &one[7..12]);
    put_frame(&mut out, 0, b"nor this");
    // The end of one message and all of the next share a frame.
    put_frame(&mut out, 1, &[&one[12..], &messages[2].encode()].concat());
    put_frame(&mut out, 2, &messages[3].encode());
    let [first, second, third, fourth] = messages.map(Event::Message);
    (out, vec![(2, second), (1, first), (1, third), (2, fourth)])
}

#[test]
fn a_stream_cut_in_two_anywhere_gives_the_same_messages() {
    let (bytes, expected) = stream();
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(
            feed(&mut Demux::new(), [head, tail]),
            expected,
            "cut at {cut}"
        );
    }
}

#[test]
fn a_stream_byte_by_byte_gives_the_same_messages() {
    let (bytes, expected) = stream();
    let mut demux = Demux::new();
    assert_eq!(feed(&mut demux, bytes.chunks(1)), expected);
    assert!(demux.is_between_messages());
}

#[test]
fn only_between_messages_nothing_is_cut_short() {
    let frames = message(1, b"body").frames(1, Split::every(5));
    let mut demux = Demux::new();
    assert!(demux.is_between_messages());
    for byte in frames.chunks(1).take(frames.len() - 1) {
        assert_eq!(feed(&mut demux, [byte]), []);
        assert!(!demux.is_between_messages());
    }
    assert_eq!(feed(&mut demux, [&frames[frames.len() - 1..]]).len(), 1);
    assert!(demux.is_between_messages());
}

#[test]
fn the_longest_frame_is_taken_and_one_byte_more_is_not() {
    let header = |length| {
        FrameHeader {
            connection: 1,
            length,
        }
        .encode()
    };
    // A message's header, and the longest body.
    let longest = 10 + u32::try_from(MAX_BODY).unwrap();
    assert_eq!(Demux::new().feed(&mut header(longest).as_slice()), Ok(None));
    let error = FrameTooLong {
        connection: 1,
        length: longest + 1,
        limit: MAX_FRAME,
    };
    assert_eq!(
        Demux::new().feed(&mut header(longest + 1).as_slice()),
        Err(error)
    );
}

#[test]
fn a_limit_on_first_frames_leaves_later_frames_of_a_message_alone() {
    let message = message(1, &[0; 100]).encode();
    for connection in [1, 2] {
        let mut bytes = BytesMut::new();
        put_frame(&mut bytes, connection, &message[..20]);
        put_frame(&mut bytes, connection, &message[20..]);
        put_frame(&mut bytes, connection, &message);
        let mut demux = Demux::new().first_frame_at_most(20);
        let mut input = &*bytes;
        let (on, _) = demux.feed(&mut input).unwrap().unwrap();
        assert_eq!(on, connection);
        let (length, limit) = (110, 20);
        let error = FrameTooLong {
            connection,
            length,
            limit,
        };
        assert_eq!(demux.feed(&mut input), Err(error));
    }
}

#[test]
fn the_longest_message_is_taken_and_a_longer_one_skipped() {
    for over in [0, 1, MAX_BODY] {
        let body = Bytes::from(vec![5; MAX_BODY + over]);
        let large = Message {
            stream: 1,
            kind: RESPONSE,
            flags: 0,
            body,
        };
        let header = MessageHeader::decode(*large.encode().first_chunk().unwrap());
        let expected = match over {
            0 => Event::Message(large.clone()),
            _ => Event::TooLarge(header),
        };
        let frames = large.frames(2, Split::every(1 << 20));
        let next = message(3, b"next");
        let mut demux = Demux::new();
        let events = feed(
            &mut demux,
            [&frames[..], &next.frames(2, Split::CONTAINERD)],
        );
        assert!(
            events == [(2, expected), (2, Event::Message(next))],
            "{over} bytes over"
        );
        assert!(demux.is_between_messages());
    }
}

/// Messages of every kind and, now and then, of some size.
fn any_message() -> impl Strategy<Value = Message> {
    let body = prop_oneof![4 => vec(any::<u8>(), 0..40), 1 => vec(any::<u8>(), 8_000..9_000)];
    (any::<u32>(), any::<u8>(), any::<u8>(), body).prop_map(|(stream, kind, flags, body)| Message {
        stream,
        kind,
        flags,
        body: body.into(),
    })
}

/// Bytes that are mostly headers, so that they reach further into the codec than mere noise.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![
        0..40_u32,
        Just(u32::try_from(MAX_BODY).unwrap()),
        Just(u32::try_from(MAX_FRAME).unwrap() + 1),
        any::<u32>(),
    ];
    let frame = (0..4_u32, 0..40_u32)
        .prop_map(|(connection, length)| FrameHeader { connection, length }.encode().to_vec());
    let message = (length, any::<u32>(), any::<u8>(), any::<u8>()).prop_map(
        |(length, stream, kind, flags)| {
            MessageHeader {
                length,
                stream,
                kind,
                flags,
            }
            .encode()
            .to_vec()
        },
    );
    let noise = vec(any::<u8>(), 0..20);
    vec(prop_oneof![2 => frame, 2 => message, 1 => noise], 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn messages_survive_any_split_into_frames_and_reads(
        messages in vec((any_message(), any::<bool>(), 1..20_000_usize, 1..20_000_usize), 0..8),
        read in 1..5_000_usize,
    ) {
        let mut bytes = BytesMut::new();
        let mut expected = Vec::new();
        for (message, plugin, first, rest) in messages {
            let connection = if plugin { 1 } else { 2 };
            Split { first, rest }.put(&mut bytes, connection, &message.encode());
            expected.push((connection, Event::Message(message)));
        }
        let mut demux = Demux::new();
        prop_assert!(feed(&mut demux, bytes.chunks(read)) == expected);
        prop_assert!(demux.is_between_messages());
    }

    #[test]
    fn whatever_comes_nothing_panics_and_every_body_is_within_the_limit(
        bytes in any_bytes(),
        read in 1..100_usize,
    ) {
        let mut demux = Demux::new();
        for mut piece in bytes.chunks(read) {
            loop {
                match demux.feed(&mut piece) {
                    Ok(Some((_, Event::Message(message)))) => {
                        prop_assert!(message.body.len() <= MAX_BODY);
                    }
                    Ok(Some((_, Event::TooLarge(header)))) => {
                        prop_assert!(header.length as usize > MAX_BODY);
                    }
                    Ok(None) => break,
                    Err(FrameTooLong { length, .. }) => {
                        prop_assert!(length as usize > MAX_FRAME);
                        return Ok(());
                    }
                }
            }
        }
    }
}
