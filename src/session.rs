//! The session with the runtime: connect, register, serve, and all over again when the connection is lost,
//! for as long as the process lives. A container created in between silently comes up without the mock.

mod backoff;
mod connect;
mod connection;
mod error;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::answer::Answerer;
use crate::blocking::Blocking;
use crate::decide::Staged;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::signals::Stop;
use backoff::Backoff;
use connection::{Connection, End};

pub use connect::{ConnectError, Origin, SOCKET_VARIABLE};
pub use error::SessionError;

/// Under what the runtime knows the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Letters, digits and `_ . + -`.
    pub name: String,
    /// Two digits: the order among the runtime's plugins.
    pub index: String,
}

/// How long Configure waits for what it brings to be set up. It goes on later; a runtime that starts its plugins does
/// not start itself over one that takes too long.
const SET_UP_LIMIT: Duration = Duration::from_secs(1);

/// Makes the answerer of the configuration that Configure brings, if it can be.
pub type SetUp<S> = Box<dyn FnOnce(&str) -> Option<Answerer<S>> + Send>;

/// All that stays the same from one connection to the next.
pub struct Session<S> {
    /// Where connections come from.
    pub origin: Origin,
    /// How each of them registers.
    pub identity: Identity,
    /// Who answers the runtime's questions. Without one, containers are left as they are.
    pub answerer: Arc<OnceLock<Answerer<S>>>,
    /// What makes the answerer, where the runtime has the configuration.
    pub set_up: Mutex<Option<SetUp<S>>>,
    /// What the probes tell of the session.
    pub health: Arc<Health>,
    /// Where the bypass audit is counted.
    pub metrics: Metrics,
}

impl<S: Staged + Send + Sync + 'static> Session<S> {
    /// Serves the runtime until `stop`. Never more than one connection is open.
    ///
    /// # Errors
    ///
    /// When the first registration does not come about, or when the runtime passed on the only connection
    /// there is and that one is lost.
    pub async fn run(&self, mut stop: Stop) -> Result<(), SessionError> {
        let mut backoff = Backoff::default();
        let mut first = true;
        let mut last_failure = String::new();
        loop {
            let begun = Instant::now();
            let (error, registered) = match self.connection(&mut stop).await {
                End::Stopped => return Ok(()),
                End::Lost(error) => (error, true),
                End::NotRegistered(error) => (error, false),
            };
            self.health.unregistered();
            // A runtime that stops along with the plugin may be quicker.
            if stop.is_requested() {
                return Ok(());
            }
            if (first && !registered) || !self.origin.outlives_a_connection() {
                return Err(error);
            }
            first = false;
            if registered {
                backoff.lost_after(begun.elapsed());
            }
            // While the runtime stays away every attempt fails the same way: that is said once.
            let failure = error.to_string();
            if registered || failure != last_failure {
                tracing::warn!(
                    error = failure,
                    "not registered; containers are created without the plugin"
                );
            }
            last_failure = failure;
            tokio::select! {
                biased;
                () = stop.requested() => return Ok(()),
                () = sleep(backoff.delay()) => {}
            }
        }
    }

    /// Configure brought `configuration`.
    async fn configured(&self, configuration: String) {
        let set_up = self
            .set_up
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(set_up) = set_up else {
            return;
        };
        let answerer = Arc::clone(&self.answerer);
        // It may look up a host name, or open a file on a file system that hangs.
        let setting_up = Blocking::new(1);
        let setting_up = setting_up.run(move || {
            if let Some(made) = set_up(&configuration) {
                let _ = answerer.set(made);
            }
        });
        let _ = timeout(SET_UP_LIMIT, setting_up).await;
    }

    /// One connection, from its beginning to its end.
    async fn connection(&self, stop: &mut Stop) -> End {
        let connected = tokio::select! {
            biased;
            () = stop.requested() => return End::Stopped,
            connected = self.origin.connect() => connected,
        };
        match connected {
            Ok(stream) => Connection::new(self).run(stream, stop).await,
            Err(error) => End::NotRegistered(error.into()),
        }
    }
}
