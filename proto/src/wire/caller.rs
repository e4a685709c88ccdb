//! The calling side: requests to the peer's service.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;

use super::answer::CallError;
use super::calls::Calls;
use super::envelope::Request;
use super::header::{MAX_BODY, REQUEST};
use super::mux::Framing;
use super::outgoing::Outgoing;

/// Calls the peer's service. Clones share the connection.
///
/// Dropping a call's future forgets the call: its answer, should it come, is ignored.
#[derive(Clone, Debug)]
pub struct Caller {
    calls: Arc<Calls>,
    outgoing: Outgoing,
    framing: Framing,
}

impl Caller {
    pub(super) fn new(calls: Arc<Calls>, outgoing: Outgoing, framing: Framing) -> Self {
        Self {
            calls,
            outgoing,
            framing,
        }
    }

    /// Calls `method` of `service` and waits for the answer, however long that takes.
    ///
    /// # Errors
    ///
    /// Any [`CallError`] but [`CallError::DeadlineExceeded`].
    pub async fn call(
        &self,
        service: &str,
        method: &str,
        payload: Vec<u8>,
    ) -> Result<Bytes, CallError> {
        self.send(service, method, payload, 0).await
    }

    /// The same, waiting no longer than `time`; the peer is told how long that is. Needs tokio's timer.
    ///
    /// # Errors
    ///
    /// Any [`CallError`].
    pub async fn call_within(
        &self,
        time: Duration,
        service: &str,
        method: &str,
        payload: Vec<u8>,
    ) -> Result<Bytes, CallError> {
        let timeout_nano = i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        tokio::time::timeout(time, self.send(service, method, payload, timeout_nano))
            .await
            .unwrap_or(Err(CallError::DeadlineExceeded(time)))
    }

    /// Puts `bytes` on the socket as they are, between what was sent before and what is sent later: for those who
    /// want to misbehave. Where the connection has ended they go nowhere.
    pub fn inject(&self, bytes: Bytes) {
        self.outgoing.send(bytes, None);
    }

    async fn send(
        &self,
        service: &str,
        method: &str,
        payload: Vec<u8>,
        timeout_nano: i64,
    ) -> Result<Bytes, CallError> {
        let envelope = Request {
            service: service.to_owned(),
            method: method.to_owned(),
            payload: payload.into(),
            timeout_nano,
        };
        let length = envelope.encoded_len();
        if length > MAX_BODY {
            return Err(CallError::RequestTooLarge(length));
        }
        let call = self.calls.open(|stream| {
            let Framing { connection, split } = self.framing;
            let frames = split.frames(connection, stream, REQUEST, &envelope);
            self.outgoing.send(frames, None);
        })?;
        drop(envelope);
        call.answer().await
    }
}
