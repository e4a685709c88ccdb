//! The serving side: requests, and answering them.

use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::service::{Answer, Received};
use super::status::{Code, Status};

/// The peer's requests, in order. Closed or dropped, it ends the connection once those taken are answered.
#[derive(Debug)]
pub struct Incoming {
    received: mpsc::UnboundedReceiver<Received>,
}

impl Incoming {
    pub(super) fn new(received: mpsc::UnboundedReceiver<Received>) -> Self {
        Self { received }
    }

    /// The next request; `None` once the connection has ended. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<Request> {
        self.received.recv().await.map(Request::from)
    }

    /// Takes no more requests off the socket: the peer's further ones stay without an answer, as they would if
    /// this process had just gone. Those that came before are still given by [`Incoming::next`]; once every one
    /// is answered and the answers are written, the connection is closed. A handler that hangs, or a peer that
    /// does not read, keeps it open: whoever cannot wait for that drops the [`Driver`](super::Driver).
    pub fn close(&mut self) {
        self.received.close();
    }
}

/// One request of the peer. Dropped without an answer, it is answered with [`Code::INTERNAL`], so that a handler
/// that panics leaves nobody waiting.
#[derive(Debug)]
pub struct Request {
    /// The service's full name.
    pub service: String,
    /// The method's name within the service.
    pub method: String,
    /// The method's argument. It keeps the whole message's memory: don't hold on to a slice of it.
    pub payload: Bytes,
    /// How long the caller will wait, where it says so.
    pub timeout: Option<Duration>,
    answer: Option<Answer>,
}

impl Request {
    /// Sends the answer, without waiting for it to go out. Where the connection has ended it goes nowhere, and
    /// one over [`MAX_BODY`](super::MAX_BODY) becomes [`Code::RESOURCE_EXHAUSTED`].
    pub fn reply(mut self, answer: Result<Vec<u8>, Status>) {
        // Before the answer: the peer may send its next 4 MiB as soon as it has that.
        self.payload = Bytes::new();
        self.answer(answer);
    }

    /// Answers that there is no such method, or no such service.
    pub fn reply_unimplemented(self) {
        let message = format!("no method {:?} in service {:?}", self.method, self.service);
        self.reply(Err(Status::new(Code::UNIMPLEMENTED, message)));
    }

    fn answer(&mut self, answer: Result<Vec<u8>, Status>) {
        if let Some(to) = self.answer.take() {
            to.send(answer.map(Bytes::from));
        }
    }
}

impl From<Received> for Request {
    fn from(Received { envelope, answer }: Received) -> Self {
        Self {
            timeout: envelope.timeout(),
            service: envelope.service,
            method: envelope.method,
            payload: envelope.payload,
            answer: Some(answer),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let message = format!("{} was dropped without an answer", self.method);
        self.answer(Err(Status::new(Code::INTERNAL, message)));
    }
}
