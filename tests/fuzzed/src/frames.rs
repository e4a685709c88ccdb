//! Bytes on NRI's socket, in either direction.

use std::collections::BTreeMap;

use bytes::Bytes;
use fake_runtime::runtime::Streams;
use nri_proto::wire::envelope::{Request, Response};
use nri_proto::wire::{
    CallError, Closed, Demux, Event, FrameTooLong, MAX_BODY, MAX_FRAME, Message, PLUGIN_CONNECTION,
    REQUEST, RESPONSE, Side, Split, open,
};
use prost::Message as _;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// What came of a stream of bytes: its messages, and whether it ended between two of them.
#[derive(Debug, PartialEq)]
struct Demuxed {
    events: Vec<(u32, Event)>,
    end: Result<bool, FrameTooLong>,
}

/// Bytes that a runtime sends. The first says how long the pieces are in which the others come; 0 is all at once.
pub fn frames_to_plugin(data: &[u8]) {
    if let Some((piece, bytes)) = data.split_first() {
        demux(Side::Plugin, usize::from(*piece), bytes);
    }
}

/// Bytes that a plugin sends. The first says how long the pieces are in which the others come; 0 is all at once.
pub fn frames_from_plugin(data: &[u8]) {
    if let Some((piece, bytes)) = data.split_first() {
        let demuxed = demux(Side::Runtime, usize::from(*piece), bytes);
        follow(&demuxed, bytes);
    }
}

fn demux(side: Side, piece: usize, bytes: &[u8]) -> Demuxed {
    let piece = if piece == 0 {
        bytes.len().max(1)
    } else {
        piece
    };
    let first_frame = match side {
        Side::Plugin => MAX_FRAME,
        Side::Runtime => Split::CONTAINERD.first,
    };
    let demux = || Demux::new().first_frame_at_most(first_frame);
    let whole = demuxed(demux(), [bytes]);
    assert_eq!(demuxed(demux(), bytes.chunks(piece)), whole);
    let mut held = 0;
    for (connection, event) in &whole.events {
        match event {
            Event::Message(message) => {
                held += message.body.len();
                assert!(message.body.len() <= MAX_BODY);
                survives_framing(*connection, piece, message);
                survives_decoding(message);
            }
            Event::TooLarge(header) => assert!(header.length as usize > MAX_BODY),
        }
    }
    assert!(held <= bytes.len(), "nothing is made up");
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().expect("no driver to start");
    runtime.block_on(converse(side, piece, bytes, &whole));
    whole
}

fn demuxed<'a>(mut demux: Demux, pieces: impl IntoIterator<Item = &'a [u8]>) -> Demuxed {
    let mut events = Vec::new();
    for mut piece in pieces {
        loop {
            match demux.feed(&mut piece) {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => {
                    return Demuxed {
                        events,
                        end: Err(error),
                    };
                }
            }
        }
        assert!(piece.is_empty(), "what is fed is used up");
    }
    Demuxed {
        events,
        end: Ok(demux.is_between_messages()),
    }
}

fn survives_framing(connection: u32, piece: usize, message: &Message) {
    for split in [Split::CONTAINERD, Split::every(piece)] {
        let frames = message.frames(connection, split);
        let again = demuxed(Demux::new().first_frame_at_most(split.first), [&*frames]);
        let expected = Demuxed {
            events: vec![(connection, Event::Message(message.clone()))],
            end: Ok(true),
        };
        assert_eq!(again, expected);
    }
}

fn survives_decoding(message: &Message) {
    if let Ok(request) = Request::decode(message.body.clone()) {
        assert_eq!(Request::decode(&*request.encode_to_vec()), Ok(request));
    }
    if let Ok(response) = Response::decode(message.body.clone()) {
        assert_eq!(Response::decode(&*response.encode_to_vec()), Ok(response));
    }
}

/// The bytes are the peer's side of a connection on which one call waits and every request is answered.
async fn converse(side: Side, piece: usize, bytes: &[u8], demuxed: &Demuxed) {
    let (ours, theirs) = tokio::io::duplex(64 << 10);
    let (caller, mut incoming, driver) = open(ours, side);
    let answers = async {
        while let Some(request) = incoming.next().await {
            let payload = request.payload.to_vec();
            request.reply(Ok(payload));
        }
    };
    let (call, closed, (), received) = tokio::join!(
        caller.call("service", "Method", Vec::new()),
        driver.run(),
        answers,
        say(theirs, piece, bytes),
    );
    assert_eq!(call, called(side, demuxed));
    match (closed, demuxed.end) {
        (Closed::Peer, Ok(true)) | (Closed::Truncated, Ok(false)) | (Closed::Flooded, _) => {}
        (Closed::Frame(one), Err(other)) if one == other => {}
        (closed, end) => panic!("{closed:?} after {end:?}"),
    }
    let mut asked = BTreeMap::<u32, usize>::new();
    for (connection, event) in &demuxed.events {
        let (kind, stream) = match event {
            Event::Message(message) => (message.kind, message.stream),
            Event::TooLarge(header) => (header.kind, header.stream),
        };
        if *connection == side.serves() && kind == REQUEST {
            *asked.entry(stream).or_default() += 1;
        }
    }
    // What the connection's end cut short is of no interest.
    for (connection, event) in self::demuxed(Demux::new(), [&*received]).events {
        let Event::Message(message) = event else {
            panic!("{event:?} is sent")
        };
        if connection == side.calls() {
            assert_eq!((message.kind, message.stream), (REQUEST, 1));
        } else {
            assert_eq!((connection, message.kind), (side.serves(), RESPONSE));
            let left = asked.get_mut(&message.stream).expect("it was asked");
            *left = left.checked_sub(1).expect("one answer to a request");
        }
    }
}

/// Sends the bytes, and gives what comes back until the other side closes.
async fn say(socket: DuplexStream, piece: usize, bytes: &[u8]) -> Vec<u8> {
    let (mut reader, mut writer) = tokio::io::split(socket);
    let say = async {
        for piece in bytes.chunks(piece) {
            // The other side closes on what is no frame.
            if writer.write_all(piece).await.is_err() {
                break;
            }
        }
        // As above.
        let _ = writer.shutdown().await;
    };
    let mut received = Vec::new();
    let (_, read) = tokio::join!(say, reader.read_to_end(&mut received));
    read.expect("memory does not fail");
    received
}

/// What becomes of the first call, which is on stream 1.
fn called(side: Side, demuxed: &Demuxed) -> Result<Bytes, CallError> {
    let answers = demuxed.events.iter().filter_map(|(connection, event)| {
        if *connection != side.calls() {
            return None;
        }
        match event {
            Event::TooLarge(header) if header.stream == 1 => {
                Some(Err(CallError::AnswerTooLarge(header.length)))
            }
            Event::Message(message) if message.stream == 1 && message.kind == RESPONSE => {
                let response = Response::decode(message.body.clone()).map_err(CallError::from);
                Some(response.and_then(|response| Ok(response.into_result()?)))
            }
            Event::Message(message) if message.stream == 1 && side == Side::Runtime => {
                Some(Err(CallError::NotAnAnswer(message.kind)))
            }
            _ => None,
        }
    });
    { answers }.next().unwrap_or(Err(CallError::Closed))
}

/// What watches the socket beside the connection sees the same answers as the connection itself.
fn follow(demuxed: &Demuxed, bytes: &[u8]) {
    let mut streams = Streams::default();
    let strays: Vec<_> = bytes
        .chunks(1)
        .flat_map(|byte| streams.receive(byte))
        .collect();
    let answers = demuxed.events.iter().filter_map(|(connection, event)| {
        let (kind, stream) = match event {
            Event::Message(message) => (message.kind, message.stream),
            Event::TooLarge(header) => (header.kind, header.stream),
        };
        (*connection == PLUGIN_CONNECTION && kind == RESPONSE).then_some(stream)
    });
    let answers: Vec<_> = answers.collect();
    assert!(strays.starts_with(&answers));
    // It sees the header of an answer that the connection still waits for, and goes on where that has closed.
    assert!(strays.len() <= answers.len() + 1 || demuxed.end.is_err());
}
