//! From the bytes of a CreateContainer request to those of its answer, whatever happens in between: a request
//! that cannot be decoded, a panic and a file system that hangs each leave the container as it is.

mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::time::timeout;

use crate::blocking::Blocking;
use crate::config::Config;
use crate::convert::{self, Asked};
use crate::decide::{self, Decision, Outcome, Refusal, Runtime, Selection, Staged};
use crate::gate::{Closed, Gate, Held};
use crate::health::{Health, Ticket};
use crate::metrics::Metrics;
use crate::panics;

/// How many decisions may be reading the disk. The runtime asks one thing at a time, so that all beyond the
/// first are left over from requests that met a hung mount.
const MAX_DECIDING: usize = 4;

/// How many may be about entering the gate, whose lock may lie on a hung mount.
const MAX_ENTERING: usize = 4;

/// Why there is no decision.
#[derive(Debug, Error)]
enum Failure {
    #[error("undecodable request: {0}")]
    Undecodable(#[from] convert::Unreadable),
    #[error("panic: {0}")]
    Panicked(String),
    #[error("the adjustment is larger than a message can be")]
    TooLarge,
    #[error("the host's file system did not answer within {}ms", .0.as_millis())]
    TimedOut(Duration),
}

impl Failure {
    /// The kind of failure without what varies, as a metric's label.
    fn kind(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "undecodable request",
            Self::Panicked(_) => "panic",
            Self::TooLarge => "adjustment too large",
            Self::TimedOut(_) => "file system did not answer",
        }
    }
}

/// A decision and what led to it.
struct Decided {
    selection: Selection,
    decision: Decision,
    /// What kind of reason closed the staging gate, if one did.
    closed: Option<&'static str>,
}

/// What answers CreateContainer.
#[derive(Debug)]
pub struct Answerer<S> {
    config: Arc<Config>,
    staged: Arc<S>,
    gate: Option<Arc<Gate>>,
    health: Arc<Health>,
    metrics: Metrics,
    deciding: Blocking,
    entering: Blocking,
}

impl<S: Staged + Send + Sync + 'static> Answerer<S> {
    /// Decides by `config` and what is `staged`, behind `gate` where there is one.
    pub fn new(
        config: Arc<Config>,
        staged: S,
        gate: Option<Arc<Gate>>,
        health: Arc<Health>,
        metrics: Metrics,
    ) -> Self {
        let deciding = Blocking::new(MAX_DECIDING);
        Self {
            config,
            staged: Arc::new(staged),
            gate,
            health,
            metrics,
            deciding,
            entering: Blocking::new(MAX_ENTERING),
        }
    }

    /// By what containers are decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Where requests in flight are kept.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The payload that answers the request in `payload`, for which the runtime waits for `patience`.
    ///
    /// # Errors
    ///
    /// When the container must not be created yet.
    pub async fn create_container(
        &self,
        payload: &[u8],
        patience: Duration,
        runtime: Runtime,
    ) -> Result<Vec<u8>, Refusal> {
        let begun = Instant::now();
        let answering = self.answer(payload, patience, runtime, begun);
        panics::caught_in(answering).await.unwrap_or_else(|panic| {
            // It came before or after what is known of the container.
            let failure = Failure::Panicked(panic);
            report::failed(&self.metrics, &Asked::default(), &failure, begun.elapsed());
            Ok(convert::answer(None))
        })
    }

    async fn answer(
        &self,
        payload: &[u8],
        patience: Duration,
        runtime: Runtime,
        begun: Instant,
    ) -> Result<Vec<u8>, Refusal> {
        let ticket = self.health.begin();
        let asked = match convert::asked(&self.config, payload) {
            Ok(asked) => Arc::new(asked),
            Err(error) => {
                report::failed(
                    &self.metrics,
                    &Asked::default(),
                    &error.into(),
                    begun.elapsed(),
                );
                return Ok(convert::answer(None));
            }
        };
        let decided = self.decide(&asked, patience, runtime, ticket).await;
        match decided.and_then(fitting) {
            Ok(decided) => {
                report::decided(&self.metrics, &asked, &decided, begun.elapsed());
                match decided.decision.outcome {
                    Outcome::Adjusted(adjustment) => Ok(convert::answer(Some(adjustment))),
                    Outcome::Refused(refusal) => Err(refusal),
                    Outcome::Unmodified(_) | Outcome::Gated { .. } => Ok(convert::answer(None)),
                }
            }
            Err(failure) => {
                report::failed(&self.metrics, &asked, &failure, begun.elapsed());
                Ok(convert::answer(None))
            }
        }
    }

    /// A container that is left alone is decided here and now; for all others the disk is read, on a thread
    /// that may hang.
    async fn decide(
        &self,
        asked: &Arc<Asked>,
        patience: Duration,
        runtime: Runtime,
        ticket: Arc<Ticket>,
    ) -> Result<Decided, Failure> {
        let (pod, container) = (asked.pod.as_ref(), asked.container.as_ref());
        let selection = panics::caught(|| decide::select(&self.config, pod, container))
            .map_err(Failure::Panicked)?;
        if let Selection::LeaveAlone { .. } = selection {
            let decision =
                decide::adjust(&self.config, &selection, container, &*self.staged, runtime);
            return Ok(Decided {
                selection,
                decision,
                closed: None,
            });
        }
        // The last fifth is for the answer's way back, also on a node that is short of CPU: late is lost.
        let limit = patience * 4 / 5;
        let (held, left) = match self.enter(limit).await {
            Ok(entered) => entered,
            Err(closed) => {
                let decision = selection.behind_closed_gate(closed.to_string());
                return Ok(Decided {
                    selection,
                    decision,
                    closed: Some(closed.kind()),
                });
            }
        };
        let reading = self.read(asked, selection.clone(), runtime, held, ticket);
        match timeout(left, reading).await {
            Ok(decided) => decided,
            Err(_) => {
                let failure = Failure::TimedOut(left);
                let decision = selection.behind_closed_gate(failure.to_string());
                match decision.outcome {
                    // To leave it as it is would be to create it without what it needs.
                    Outcome::Refused(_) => Ok(Decided {
                        selection,
                        decision,
                        closed: None,
                    }),
                    _ => Err(failure),
                }
            }
        }
    }

    /// Enters the gate where there is one, and says what that left of the time.
    async fn enter(&self, limit: Duration) -> Result<(Option<Held>, Duration), Closed> {
        let Some(gate) = &self.gate else {
            return Ok((None, limit));
        };
        let begun = Instant::now();
        let entering = Arc::clone(gate);
        let entering = self.entering.run(move || entering.enter(limit));
        // An eighth more: the gate itself says better what it waited for.
        let held = match timeout(limit * 9 / 8, entering).await {
            Ok(Ok(entered)) => entered?,
            Ok(Err(_)) | Err(_) => return Err(gate.hung()),
        };
        Ok((Some(held), limit.saturating_sub(begun.elapsed())))
    }

    /// Decides by what is staged. For as long as that takes, the gate is held and the request is in flight.
    async fn read(
        &self,
        asked: &Arc<Asked>,
        selection: Selection,
        runtime: Runtime,
        held: Option<Held>,
        ticket: Arc<Ticket>,
    ) -> Result<Decided, Failure> {
        let (config, staged) = (Arc::clone(&self.config), Arc::clone(&self.staged));
        let asked = Arc::clone(asked);
        let deciding = self.deciding.run(move || {
            let decision = decide::adjust(
                &config,
                &selection,
                asked.container.as_ref(),
                &*staged,
                runtime,
            );
            drop((held, ticket));
            Decided {
                selection,
                decision,
                closed: None,
            }
        });
        deciding
            .await
            .map_err(|error| match error.try_into_panic() {
                Ok(panic) => Failure::Panicked(panics::message(&*panic).to_owned()),
                Err(cancelled) => Failure::Panicked(cancelled.to_string()),
            })
    }
}

/// The decision, if its answer can be sent. Otherwise an error would be sent in its place, over which the runtime
/// refuses the container.
fn fitting(decided: Decided) -> Result<Decided, Failure> {
    match &decided.decision.outcome {
        Outcome::Adjusted(adjustment) if !convert::fits(adjustment) => Err(Failure::TooLarge),
        _ => Ok(decided),
    }
}
