//! What moves the bytes: the one future that reads and writes the socket.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use super::Side;
use super::calls::Calls;
use super::closed::{Closed, READ_BUFFER};
use super::demux::Demux;
use super::outgoing::{Queued, Writer};
use super::service::{Flooded, Service};

/// Moves the connection's bytes while [`Driver::run`] is polled. Dropped, it ends the connection.
#[derive(Debug)]
pub struct Driver<S> {
    stream: S,
    side: Side,
    service: Service,
    calls: EndOnDrop,
    queued: Queued,
}

impl<S: AsyncRead + AsyncWrite> Driver<S> {
    pub(super) fn new(
        stream: S,
        side: Side,
        service: Service,
        calls: Arc<Calls>,
        queued: Queued,
    ) -> Self {
        Self {
            stream,
            side,
            service,
            calls: EndOnDrop(calls),
            queued,
        }
    }

    /// Runs the connection to its end and says why it ended. By then what could be written at once is written,
    /// the socket is closed, every open call has failed and [`Incoming`](super::Incoming) gives `None`.
    pub async fn run(self) -> Closed {
        let Self {
            stream,
            side,
            service,
            calls,
            queued,
        } = self;
        let (reader, writer) = tokio::io::split(stream);
        let mut writer = Writer::new(writer, queued);
        let closed = tokio::select! {
            // First what the peer said last: it may be the reason why writing fails.
            biased;
            closed = read(reader, side, &service, &calls.0) => closed,
            error = writer.run() => error.into(),
            () = service.stopped() => Closed::Stopped,
        };
        writer.finish().await;
        closed
    }
}

async fn read(
    mut socket: impl AsyncRead + Unpin,
    side: Side,
    service: &Service,
    calls: &Calls,
) -> Closed {
    let mut demux = Demux::new().first_frame_at_most(side.longest_first_frame());
    let mut buffer = vec![0; READ_BUFFER];
    loop {
        let mut input = match socket.read(&mut buffer).await {
            Ok(0) if demux.is_between_messages() => return Closed::Peer,
            Ok(0) => return Closed::Truncated,
            Ok(length) => &buffer[..length],
            Err(error) => return error.into(),
        };
        loop {
            match demux.feed(&mut input) {
                Ok(Some((connection, event))) if connection == side.serves() => {
                    if let Err(Flooded) = service.take(event) {
                        return Closed::Flooded;
                    }
                }
                Ok(Some((_, event))) => calls.settle(event),
                Ok(None) => break,
                Err(error) => return error.into(),
            }
        }
    }
}

/// Fails the open calls when the connection ends, however it does.
#[derive(Debug)]
struct EndOnDrop(Arc<Calls>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}
