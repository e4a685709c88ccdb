//! The request to stop: SIGTERM or SIGINT.
//!
//! SIGHUP is left as the process finds it. There is no configuration to read again; a terminal that closes ends what
//! runs on it, and `nohup` keeps that from happening, which a handler would undo.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Tells those who hold a clone once the process is to stop.
#[derive(Debug, Clone)]
pub struct Stop {
    requested: watch::Receiver<bool>,
}

impl Stop {
    /// Stops on the first SIGTERM or SIGINT from now on. Must be called on a tokio runtime.
    ///
    /// # Errors
    ///
    /// When the signal handlers cannot be installed.
    pub fn on_signals() -> io::Result<Self> {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (request, stop) = Self::by_hand();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            tracing::info!(signal = name, "stopping");
            request.send_replace(true);
            request.closed().await;
        });
        Ok(stop)
    }

    /// Stops when `true` is sent, and when the sender is dropped.
    pub fn by_hand() -> (watch::Sender<bool>, Self) {
        let (request, requested) = watch::channel(false);
        (request, Self { requested })
    }

    /// Whether the request was made.
    pub fn is_requested(&self) -> bool {
        *self.requested.borrow() || self.requested.has_changed().is_err()
    }

    /// Waits for the request. Returns at once, as often as asked, when it was made.
    pub async fn requested(&mut self) {
        // An error is the sender gone.
        let _ = self.requested.wait_for(|requested| *requested).await;
    }
}
