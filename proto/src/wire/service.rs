//! The serving side: which of the peer's requests are taken.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::answer;
use super::asked::{Asked, MAX_UNANSWERED};
use super::envelope::Request;
use super::mux::Framing;
use super::outgoing::Outgoing;
use super::reassembly::Event;
use super::status::Status;

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
        let Some(asked) = Asked::by(event) else {
            return Ok(());
        };
        if self.requests.is_closed() {
            return Ok(());
        }
        let unanswered = Arc::clone(&self.unanswered)
            .try_acquire_many_owned(asked.weight)
            .map_err(|_| Flooded)?;
        let to = AnswerTo {
            stream: asked.stream,
            unanswered,
            outgoing: self.outgoing.clone(),
            framing: self.framing,
        };
        let admitted = asked.request.and_then(|envelope| {
            let in_use = self.in_use.open(asked.stream);
            let in_use = in_use.ok_or_else(|| Asked::stream_in_use(asked.stream))?;
            Ok((in_use, envelope))
        });
        match admitted {
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
        let Framing { connection, split } = self.framing;
        let frames = answer::frames(connection, split, self.stream, answer);
        self.outgoing.send(frames, Some(self.unanswered));
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
