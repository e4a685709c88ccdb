//! A request that needs the gate or the disk, and what it is answered with where they do not come back in time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nri_stub::Answer;

use super::decided::{Decided, Failure};
use super::report;
use crate::convert::Asked;
use crate::decide::{Outcome, Selection};
use crate::gate::{Closed, Gate, Held};
use crate::health::Health;
use crate::metrics::Metrics;

/// What its handler and its deadline share.
pub(super) struct Pending {
    pub(super) asked: Arc<Asked>,
    pub(super) selection: Selection,
    pub(super) came: Instant,
    pub(super) metrics: Metrics,
    pub(super) health: Arc<Health>,
    pub(super) state: Mutex<State>,
}

/// What it waits for.
pub(super) enum State {
    /// The gate.
    Entering(Arc<Gate>),
    /// The disk, with this much of the budget left.
    Reading(Duration, Option<Held>),
}

impl Pending {
    /// The gate is entered, or there is none: from now on the disk is waited for.
    pub(super) fn reads(&self, held: Option<Held>, left: Duration) {
        *self.state() = State::Reading(left, held);
    }

    /// The request waits for another one, and the node agent need not wait with it.
    pub(super) fn lets_go(&self) {
        if let State::Reading(_, held) = &mut *self.state() {
            drop(held.take());
        }
    }

    /// The answer at the deadline. The lock is let go of, whatever the file system does.
    pub(super) fn answer_late(&self) -> Answer {
        let decided = match &mut *self.state() {
            State::Entering(gate) => Ok(self.closed(&gate.hung())),
            State::Reading(left, held) => {
                if let Some(held) = held.take() {
                    let_go_of(held);
                }
                self.health.disk_hangs();
                self.unread(Failure::TimedOut(*left))
            }
        };
        report::settled(&self.metrics, &self.asked, decided, self.came.elapsed())
    }

    /// The decision behind a closed gate.
    pub(super) fn closed(&self, closed: &Closed) -> Decided {
        Decided {
            selection: self.selection.clone(),
            decision: self.selection.behind_closed_gate(closed.to_string()),
            closed: Some(closed.kind()),
        }
    }

    /// The decision where the disk could not be read.
    fn unread(&self, failure: Failure) -> Result<Decided, Failure> {
        let decision = self.selection.behind_closed_gate(failure.to_string());
        match decision.outcome {
            // To leave it as it is would be to create it without what it needs.
            Outcome::Refused(_) => Ok(Decided {
                selection: self.selection.clone(),
                decision,
                closed: None,
            }),
            _ => Err(failure),
        }
    }

    // No panic leaves it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closing the lock's file may hang like any other call on its mount.
fn let_go_of(held: Held) {
    let letting_go = thread::Builder::new().name("let-go".into());
    // Without a thread it is closed here, by the closure's end.
    let _ = letting_go.spawn(move || drop(held));
}
