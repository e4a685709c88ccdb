//! The runtime's end of one socket, and what can be done to it from outside of the connection that runs on it.

mod headers;
mod streams;

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

use super::lock::lock;
use super::pace::Pace;
pub use streams::Streams;

/// A socket that is read at the pace asked for, and tells of answers that nobody waits for.
pub(super) struct Link {
    socket: UnixStream,
    control: Arc<Control>,
    streams: Streams,
    strays: Box<dyn Fn(u32) + Send>,
    pause: Option<Pin<Box<Sleep>>>,
}

/// What can be done to a [`Link`] while a connection runs on it.
#[derive(Debug, Default)]
pub(super) struct Control {
    pace: Mutex<Option<Pace>>,
    half_closed: AtomicBool,
    /// How many bytes were written until now.
    written: watch::Sender<usize>,
}

impl Link {
    /// The runtime's end, which tells `strays` of the stream id of each answer that nobody waits for.
    pub(super) fn new(
        socket: UnixStream,
        strays: impl Fn(u32) + Send + 'static,
    ) -> (Self, Arc<Control>) {
        let control = Arc::<Control>::default();
        let link = Self {
            socket,
            control: Arc::clone(&control),
            streams: Streams::default(),
            strays: Box::new(strays),
            pause: None,
        };
        (link, control)
    }

    /// Resolves once the pause is over that the pace asks for, if any.
    fn poll_pause(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(context));
            self.pause = None;
        }
        Poll::Ready(())
    }
}

impl Control {
    /// Reads at this pace from now on; `None` is at once.
    pub(super) fn set_pace(&self, pace: Option<Pace>) {
        *lock(&self.pace) = pace;
    }

    /// Says with the next write that nothing more will be written. Reading goes on.
    pub(super) fn half_close(&self) {
        self.half_closed.store(true, Ordering::Release);
    }

    /// How many bytes have been written in all.
    pub(super) fn written(&self) -> usize {
        *self.written.borrow()
    }

    /// Resolves when so many bytes have been written in all, or the socket is gone.
    pub(super) async fn has_written(&self, bytes: usize) {
        let mut written = self.written.subscribe();
        // The sender lives as long as `self` does.
        let _ = written.wait_for(|written| *written >= bytes).await;
    }
}

impl AsyncRead for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_pause(context));
        let this = &mut *self;
        let pace = *lock(&this.control.pace);
        let most = pace.map_or(usize::MAX, |pace| pace.bytes.max(1));
        let part = buffer.initialize_unfilled_to(most.min(buffer.remaining()));
        let mut part = ReadBuf::new(part);
        ready!(Pin::new(&mut this.socket).poll_read(context, &mut part))?;
        for stream in this.streams.receive(part.filled()) {
            (this.strays)(stream);
        }
        let read = part.filled().len();
        buffer.advance(read);
        this.pause = pace
            .filter(|_| read > 0)
            .map(|pace| Box::pin(sleep(pace.pause)));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        let written = if this.control.half_closed.load(Ordering::Acquire) {
            ready!(Pin::new(&mut this.socket).poll_shutdown(context))?;
            bytes.len()
        } else {
            ready!(Pin::new(&mut this.socket).poll_write(context, bytes))?
        };
        this.streams.send(&bytes[..written]);
        this.control.written.send_modify(|total| *total += written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
