//! Accepting connections.

use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::task::{JoinHandle, JoinSet};

use super::hub::Hub;
use super::registration;

/// The accept loop and every connection made through it. Dropped, all of them close.
#[derive(Debug)]
pub(super) struct Server {
    accepting: JoinHandle<()>,
}

impl Server {
    pub(super) fn start(hub: Arc<Hub>, listener: UnixListener) -> Self {
        Self {
            accepting: tokio::spawn(accept(hub, listener)),
        }
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

async fn accept(hub: Arc<Hub>, listener: UnixListener) {
    // Tasks of this one, so that aborting it ends them too.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        // One after the other, as in containerd: who stays silent keeps the others waiting.
        registration::register(&hub, stream, &mut connections).await;
        while connections.try_join_next().is_some() {}
    }
}
