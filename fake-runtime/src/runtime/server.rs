//! Accepting connections.

use std::sync::Arc;

use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use super::hub::Hub;
use super::registration::{self, Given};
use super::socket::Listener;

/// The accept loop and every connection made through it. Dropped, all of them close.
#[derive(Debug)]
pub(super) struct Server {
    accepting: JoinHandle<()>,
    given: mpsc::UnboundedSender<(UnixStream, Given)>,
}

impl Server {
    pub(super) fn start(hub: Arc<Hub>, listener: Listener) -> Self {
        let (given, receiver) = mpsc::unbounded_channel();
        Self {
            accepting: tokio::spawn(accept(hub, listener, receiver)),
            given,
        }
    }

    /// Takes the runtime's end of a connection to a plugin that it started.
    pub(super) fn give(&self, stream: UnixStream, given: Given) {
        // Fails only once the server has ended, and the connection is closed with it.
        let _ = self.given.send((stream, given));
    }

    /// Resolves when the listener and every connection are closed.
    pub(super) async fn stop(mut self) {
        self.accepting.abort();
        // The error says that it was aborted, as intended.
        let _ = (&mut self.accepting).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(
    hub: Arc<Hub>,
    listener: Listener,
    mut given: mpsc::UnboundedReceiver<(UnixStream, Given)>,
) {
    // Tasks of this one, so that aborting it ends them too.
    let mut connections = JoinSet::new();
    loop {
        let (stream, given) = tokio::select! {
            Some((stream, given)) = given.recv() => (stream, Some(given)),
            accepted = listener.accept() => match accepted {
                Ok(stream) => (stream, None),
                Err(_) => return,
            },
        };
        // One after the other, as in containerd: who stays silent keeps the others waiting.
        registration::register(&hub, stream, given, &mut connections).await;
        while connections.try_join_next().is_some() {}
    }
}
