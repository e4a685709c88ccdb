//! The session with the runtime: connect, register, serve, and all over again when the connection is lost,
//! for as long as the process lives. A container created in between silently comes up without the mock.

mod backoff;
mod connect;
mod connection;
mod error;

use tokio::time::{Instant, sleep};

use crate::answer::Answerer;
use crate::decide::Staged;
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

/// All that stays the same from one connection to the next.
#[derive(Debug)]
pub struct Session<S> {
    /// Where connections come from.
    pub origin: Origin,
    /// How each of them registers.
    pub identity: Identity,
    /// Who answers the runtime's questions.
    pub answerer: Answerer<S>,
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
            self.answerer.health().unregistered();
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
