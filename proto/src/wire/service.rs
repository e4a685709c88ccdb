//! The serving side: which of the peer's requests are taken.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use prost::Message as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::envelope::{Request, Response};
use super::message::{MAX_BODY, Message, MessageHeader, REQUEST};
use super::mux::Framing;
use super::outgoing::Outgoing;
use super::reassembly::Event;
use super::status::{Code, Status};

/// The most bytes of requests that may be unanswered: four of the longest messages.
const MAX_UNANSWERED: u32 = 16 << 20;

/// What a request counts for at least, in bytes, so that their number is bounded too: by 1024.
const LEAST_WEIGHT: u32 = 16 << 10;

/// More is unanswered than this side keeps: the peer asks on and on, or does not read the answers.
#[derive(Debug)]
pub(super) struct Flooded;

/// Takes requests off one logical connection.
#[derive(Debug)]
pub(super) struct Service {
    requests: mpsc::UnboundedSender<Received>,
    outgoing: Outgoing,
    framing: Framing,
    unanswered: Arc<Semaphore>,
    in_use: StreamsInUse,
}

/// A request that nobody has looked at yet. Dropped, it stays without an answer: the runtime refuses a container
/// over an error, and creates it when the plugin has just gone.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) envelope: Request,
    pub(super) answer: Answer,
}

/// Where the answer to one request goes.
#[derive(Debug)]
pub(super) struct Answer {
    to: AnswerTo,
    in_use: StreamInUse,
}

#[derive(Debug)]
struct AnswerTo {
    stream: u32,
    unanswered: OwnedSemaphorePermit,
    outgoing: Outgoing,
    framing: Framing,
}

impl Service {
    pub(super) fn new(
        requests: mpsc::UnboundedSender<Received>,
        outgoing: Outgoing,
        framing: Framing,
    ) -> Self {
        let unanswered = Arc::new(Semaphore::new(MAX_UNANSWERED as usize));
        Self {
            requests,
            outgoing,
            framing,
            unanswered,
            in_use: StreamsInUse::default(),
        }
    }

    /// Takes what came on the logical connection: passes a request on, or answers why not.
    pub(super) fn take(&self, event: Event) -> Result<(), Flooded> {
        let (kind, stream, body) = match event {
            Event::Message(Message {
                kind, stream, body, ..
            }) => (kind, stream, Ok(body)),
            Event::TooLarge(MessageHeader {
                kind,
                stream,
                length,
                ..
            }) => {
                let message =
                    format!("a request of {length} bytes is over the limit of {MAX_BODY}");
                (
                    kind,
                    stream,
                    Err(Status::new(Code::RESOURCE_EXHAUSTED, message)),
                )
            }
        };
        if kind != REQUEST || self.requests.is_closed() {
            return Ok(());
        }
        let length = body.as_ref().map_or(0, Bytes::len);
        let weight = u32::try_from(length).unwrap_or(u32::MAX).max(LEAST_WEIGHT);
        let unanswered = Arc::clone(&self.unanswered)
            .try_acquire_many_owned(weight)
            .map_err(|_| Flooded)?;
        let to = AnswerTo {
            stream,
            unanswered,
            outgoing: self.outgoing.clone(),
            framing: self.framing,
        };
        match body.and_then(|body| self.admit(stream, body)) {
            Ok((in_use, envelope)) => {
                // Nobody takes requests any more: then this one stays without an answer, like those to come.
                let _ = self.requests.send(Received {
                    envelope,
                    answer: Answer { to, in_use },
                });
            }
            Err(status) => to.send(Err(status)),
        }
        Ok(())
    }

    fn admit(&self, stream: u32, body: Bytes) -> Result<(StreamInUse, Request), Status> {
        let invalid = |message| Status::new(Code::INVALID_ARGUMENT, message);
        if stream.is_multiple_of(2) {
            return Err(invalid(format!(
                "stream id {stream} is even: a client's are odd"
            )));
        }
        let in_use = self
            .in_use
            .open(stream)
            .ok_or_else(|| invalid(format!("stream id {stream} is in use")))?;
        let request = Request::decode(body)
            .map_err(|error| invalid(format!("undecodable request: {error}")))?;
        Ok((in_use, request))
    }

    /// Resolves when no more requests are wanted and every one taken is answered, on the socket.
    pub(super) async fn stopped(&self) {
        self.requests.closed().await;
        // An error would say that the semaphore is closed, which nobody does.
        let _ = self.unanswered.acquire_many(MAX_UNANSWERED).await;
    }
}

impl Answer {
    pub(super) fn send(self, answer: Result<Bytes, Status>) {
        // The peer may use the id again as soon as it has the answer.
        drop(self.in_use);
        self.to.send(answer);
    }
}

impl AnswerTo {
    fn send(self, answer: Result<Bytes, Status>) {
        let mut response = Response::from(answer);
        let length = response.encoded_len();
        if length > MAX_BODY {
            let message = format!("an answer of {length} bytes is over the limit of {MAX_BODY}");
            response = Err(Status::new(Code::RESOURCE_EXHAUSTED, message)).into();
        }
        let message = Message::response(self.stream, &response);
        self.outgoing
            .send(self.framing.frames(&message), Some(self.unanswered));
    }
}

/// The streams of requests that are not answered yet.
#[derive(Clone, Debug, Default)]
struct StreamsInUse(Arc<Mutex<BTreeSet<u32>>>);

impl StreamsInUse {
    fn open(&self, stream: u32) -> Option<StreamInUse> {
        self.lock().insert(stream).then(|| StreamInUse {
            stream,
            all: self.clone(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of them, until it is dropped.
#[derive(Debug)]
struct StreamInUse {
    stream: u32,
    all: StreamsInUse,
}

impl Drop for StreamInUse {
    fn drop(&mut self) {
        self.all.lock().remove(&self.stream);
    }
}
