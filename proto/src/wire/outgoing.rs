//! What waits to be written, and writing it.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc};
use tokio::task::coop::unconstrained;

/// Queues bytes for the socket. Each item is written whole before the next.
///
/// The queue has no bound of its own: what the peer can put on it is bounded by what it may leave unanswered,
/// the rest is up to this process.
#[derive(Clone, Debug)]
pub(super) struct Outgoing(mpsc::UnboundedSender<Item>);

#[derive(Debug, Default)]
struct Item {
    bytes: Bytes,
    /// What the answered request counted for: given back when the answer is written.
    _unanswered: Option<OwnedSemaphorePermit>,
}

impl Outgoing {
    /// Queues `bytes`. After the connection's end they go nowhere.
    pub(super) fn send(&self, bytes: Bytes, unanswered: Option<OwnedSemaphorePermit>) {
        let _ = self.0.send(Item {
            bytes,
            _unanswered: unanswered,
        });
    }
}

/// Both ends of a new queue.
pub(super) fn queue() -> (Outgoing, Queued) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (Outgoing(sender), Queued(receiver))
}

/// The queue's other end.
#[derive(Debug)]
pub(super) struct Queued(mpsc::UnboundedReceiver<Item>);

/// Writes what is queued. Its futures can be dropped at any time without losing a byte.
pub(super) struct Writer<W> {
    socket: W,
    queued: Queued,
    current: Item,
}

impl<W: AsyncWrite + Unpin> Writer<W> {
    pub(super) fn new(socket: W, queued: Queued) -> Self {
        Self {
            socket,
            queued,
            current: Item::default(),
        }
    }

    /// Writes until that fails.
    pub(super) async fn run(&mut self) -> io::Error {
        loop {
            if let Err(error) = self.write_current().await {
                return error;
            }
            match self.queued.0.recv().await {
                Some(item) => self.current = item,
                // Not while the connection lives: its service holds a sender.
                None => return io::ErrorKind::BrokenPipe.into(),
            }
        }
    }

    /// Writes what the socket takes at once of what is left, and closes it.
    pub(super) async fn finish(mut self) {
        let mut rest = pin!(unconstrained(async {
            while self.write_current().await.is_ok() {
                match self.queued.0.try_recv() {
                    Ok(item) => self.current = item,
                    Err(_) => break,
                }
            }
            self.socket.shutdown().await
        }));
        // A peer that reads no more must not hold up who waits for the connection's end.
        poll_fn(|context| {
            let _ = rest.as_mut().poll(context);
            Poll::Ready(())
        })
        .await;
    }

    async fn write_current(&mut self) -> io::Result<()> {
        while self.current.bytes.has_remaining() {
            if self.socket.write_buf(&mut self.current.bytes).await? == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        self.current = Item::default();
        Ok(())
    }
}
