//! The calls that wait for an answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;

use super::Side;
use super::answer::{self, CallError};
use super::reassembly::Event;

/// The calls that wait for an answer.
#[derive(Debug)]
pub(super) struct Calls {
    table: Mutex<Table>,
    side: Side,
}

#[derive(Debug)]
struct Table {
    /// The next stream id, while there is one.
    next: Option<u32>,
    /// `None` once the connection has ended.
    waiting: Option<BTreeMap<u32, oneshot::Sender<Answer>>>,
}

type Answer = Result<Bytes, CallError>;

impl Table {
    fn close(&mut self, stream: u32) -> Option<oneshot::Sender<Answer>> {
        self.waiting.as_mut()?.remove(&stream)
    }
}

impl Calls {
    pub(super) fn new(side: Side) -> Self {
        Self {
            table: Mutex::new(Table {
                next: Some(1),
                waiting: Some(BTreeMap::new()),
            }),
            side,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a call under the next stream id, and has `send` queue its message. Ids have to rise on the wire,
    /// so that no other call can come between the two.
    pub(super) fn open(&self, send: impl FnOnce(u32)) -> Result<OpenCall<'_>, CallError> {
        let mut table = self.lock();
        let Table { next, waiting } = &mut *table;
        let waiting = waiting.as_mut().ok_or(CallError::Closed)?;
        let stream = next.ok_or(CallError::NoStreamLeft)?;
        *next = stream.checked_add(2);
        let (sender, answer) = oneshot::channel();
        waiting.insert(stream, sender);
        send(stream);
        Ok(OpenCall {
            calls: self,
            stream,
            answer,
        })
    }

    /// Gives an answer to who waits for it, if anybody does.
    pub(super) fn settle(&self, event: Event) {
        let Some((stream, answer)) = answer::given(event, self.side) else {
            return;
        };
        if let Some(waiting) = self.lock().close(stream) {
            // Who has gone meanwhile needs no answer.
            let _ = waiting.send(answer);
        }
    }

    /// Fails every call that waits, and every later one.
    pub(super) fn end(&self) {
        // Dropping the senders is what tells those who wait.
        self.lock().waiting = None;
    }
}

/// A call that was sent. Dropped before its answer came, it leaves nothing behind.
pub(super) struct OpenCall<'a> {
    calls: &'a Calls,
    stream: u32,
    answer: oneshot::Receiver<Answer>,
}

impl OpenCall<'_> {
    pub(super) async fn answer(mut self) -> Answer {
        (&mut self.answer).await.unwrap_or(Err(CallError::Closed))
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.calls.lock().close(self.stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_call_leaves_no_entry() {
        let calls = Calls::new(Side::Plugin);
        let dropped = calls.open(|_| {}).unwrap();
        let kept = calls.open(|_| {}).unwrap();
        drop(dropped);
        assert_eq!(
            calls
                .lock()
                .waiting
                .as_ref()
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            [&3]
        );
        drop(kept);
        assert!(calls.lock().waiting.as_ref().unwrap().is_empty());
    }

    #[test]
    fn the_last_stream_id_is_used_and_none_after_it() {
        let calls = Calls::new(Side::Plugin);
        calls.lock().next = Some(u32::MAX);
        let mut sent = None;
        assert!(calls.open(|stream| sent = Some(stream)).is_ok());
        assert_eq!(sent, Some(u32::MAX));
        assert!(matches!(calls.open(|_| {}), Err(CallError::NoStreamLeft)));
    }
}
