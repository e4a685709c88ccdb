//! A connection as futures.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use super::caller::Caller;
use super::calls::Calls;
use super::driver::Driver;
use super::incoming::Incoming;
use super::mux::{Framing, Split};
use super::service::Service;
use super::{Side, outgoing};

/// Starts a connection on `stream`, with messages cut as containerd takes them.
///
/// Nothing moves until [`Driver::run`] is polled. Keep the [`Incoming`]: dropping it closes the connection.
pub fn open<S: AsyncRead + AsyncWrite>(stream: S, side: Side) -> (Caller, Incoming, Driver<S>) {
    open_with(stream, side, Split::CONTAINERD)
}

/// The same, with messages cut in another way.
pub fn open_with<S: AsyncRead + AsyncWrite>(
    stream: S,
    side: Side,
    split: Split,
) -> (Caller, Incoming, Driver<S>) {
    let (outgoing, queued) = outgoing::queue();
    let (requests, received) = mpsc::unbounded_channel();
    let calls = Arc::new(Calls::new(side));
    let framing = |connection| Framing { connection, split };
    let service = Service::new(requests, outgoing.clone(), framing(side.serves()));
    (
        Caller::new(Arc::clone(&calls), outgoing, framing(side.calls())),
        Incoming::new(received),
        Driver::new(stream, side, service, calls, queued),
    )
}
