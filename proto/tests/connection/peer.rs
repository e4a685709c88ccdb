//! The other end, in raw messages.

use std::time::Duration;

use bytes::Bytes;
use nri_proto::wire::{
    Caller, Closed, Demux, Event, Incoming, Message, REQUEST, Side, Split, envelope, open,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;

/// How long a connection is driven: then it ends, so that no test waits for ever on what does not come.
const LIMIT: Duration = Duration::from_secs(15);

/// What a test holds: this side, and the raw other one.
pub(crate) struct Connection {
    pub(crate) caller: Caller,
    pub(crate) incoming: Incoming,
    pub(crate) driver: JoinHandle<Closed>,
    pub(crate) peer: Peer,
}

/// A connection whose driver runs.
pub(crate) fn connect(side: Side) -> Connection {
    connect_over(side, 64 << 10)
}

/// The same, on a socket that holds `buffer` bytes in each direction.
pub(crate) fn connect_over(side: Side, buffer: usize) -> Connection {
    let (ours, theirs) = tokio::io::duplex(buffer);
    let (caller, incoming, driver) = open(ours, side);
    let peer = Peer {
        socket: theirs,
        demux: Demux::new(),
        read: Vec::new(),
        side,
    };
    Connection {
        caller,
        incoming,
        driver: tokio::spawn(async {
            let run = tokio::time::timeout(LIMIT, driver.run()).await;
            run.expect("the test ends the connection in time")
        }),
        peer,
    }
}

/// The raw other end.
pub(crate) struct Peer {
    pub(crate) socket: DuplexStream,
    demux: Demux,
    read: Vec<u8>,
    /// The side that the tested end is.
    side: Side,
}

impl Peer {
    /// Sends bytes as they are.
    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).await.unwrap();
    }

    /// Sends a message to the tested end's service.
    pub(crate) async fn send(&mut self, message: &Message) {
        self.send_raw(&message.frames(self.side.serves(), Split::CONTAINERD))
            .await;
    }

    /// Asks the tested end's service.
    pub(crate) async fn ask(&mut self, stream: u32, method: &str, payload: &'static [u8]) {
        self.send(&request(stream, method, payload)).await;
    }

    /// Sends a message in answer to the tested end's call.
    pub(crate) async fn answer(&mut self, message: &Message) {
        self.send_raw(&message.frames(self.side.calls(), Split::CONTAINERD))
            .await;
    }

    /// The next message of the tested end, and its logical connection; `None` once it has closed.
    pub(crate) async fn next(&mut self) -> Option<(u32, Message)> {
        loop {
            let mut input = self.read.as_slice();
            let event = self.demux.feed(&mut input).unwrap();
            let left = input.len();
            self.read.drain(..self.read.len() - left);
            match event {
                Some((connection, Event::Message(message))) => return Some((connection, message)),
                Some((_, Event::TooLarge(header))) => panic!("too large: {header:?}"),
                None if self.socket.read_buf(&mut self.read).await.unwrap() == 0 => return None,
                None => {}
            }
        }
    }

    /// The next message, which has to be an answer: its stream, and the answer.
    pub(crate) async fn next_answer(&mut self) -> (u32, Result<Bytes, nri_proto::wire::Status>) {
        let (connection, message) = self.next().await.expect("an answer before the end");
        assert_eq!(connection, self.side.serves());
        let response: envelope::Response = prost::Message::decode(message.body).unwrap();
        (message.stream, response.into_result())
    }

    /// The next message, which has to be a request.
    pub(crate) async fn next_request(&mut self) -> (u32, envelope::Request) {
        let (connection, message) = self.next().await.expect("a request before the end");
        assert_eq!((connection, message.kind), (self.side.calls(), REQUEST));
        (
            message.stream,
            prost::Message::decode(message.body).unwrap(),
        )
    }
}

/// A request of the plugin's service.
pub(crate) fn request(stream: u32, method: &str, payload: &'static [u8]) -> Message {
    let envelope = envelope::Request {
        service: "test.Service".to_owned(),
        method: method.to_owned(),
        payload: Bytes::from_static(payload),
        ..Default::default()
    };
    Message::request(stream, &envelope)
}

/// An answer that went well.
pub(crate) fn response(stream: u32, payload: &'static [u8]) -> Message {
    Message::response(stream, &Ok(Bytes::from_static(payload)).into())
}
