//! What moves from thread to thread: the connection's reading end, and the requests that have no answer yet.
//!
//! One thread reads a request and runs its handler right there. Meanwhile the reading end lies on the desk. A handler
//! that comes back in time takes it and reads on: nobody else had to be woken. Where it does not, the supervisor
//! takes the reading end and gives it to another thread. A request is answered by whoever claims it first: its
//! handler, or the supervisor once its deadline has passed.

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

#[cfg(test)]
use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(test))]
use std::sync::{Condvar, Mutex, MutexGuard};

/// For so long after a request the supervisor looks again by itself, so that the next one need not wake it.
const AWAKE: Duration = Duration::from_secs(1);

/// `R` is the reading end, `J` a request.
#[derive(Debug)]
pub(crate) struct Desk<R, J> {
    state: Mutex<State<R, J>>,
    changed: Condvar,
    limits: Limits,
}

/// When the supervisor steps in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// How long a handler may run before another thread reads on.
    pub(crate) stall: Duration,
    /// The most threads: further handlers are told not to block.
    pub(crate) threads: usize,
}

#[derive(Debug)]
struct State<R, J> {
    /// The reading end, while the thread that read last runs a handler.
    reader: Option<Lent<R>>,
    open: Vec<Open<J>>,
    next: u64,
    /// The connection that is served: what comes from an earlier one is not taken.
    epoch: u64,
    /// Threads that read or run a handler.
    threads: usize,
    /// How often a thread came back that had lost the reading end.
    returned: u64,
    last: Option<Instant>,
    /// The supervisor sleeps until it is woken.
    asleep: bool,
    /// Every change wakes the supervisor.
    closing: bool,
    /// Something happened that the supervisor asked for by [`Desk::notify`].
    notified: bool,
}

#[derive(Debug)]
struct Lent<R> {
    reader: R,
    turn: u64,
    since: Instant,
    /// The handler has said that it will take long.
    hurry: bool,
}

#[derive(Debug)]
struct Open<J> {
    turn: u64,
    job: J,
    deadline: Option<Instant>,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its handler runs.
    Running,
    /// Its handler waits for a thread to come back; so many had by then.
    Parked(u64),
    /// Its answer is being written.
    Claimed,
}

/// One run of a handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    id: u64,
    returned: u64,
    /// Whether there is a thread to spare, should this one not come back.
    pub(crate) may_block: bool,
}

/// What the supervisor has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<R, J> {
    /// Give the reading end to another thread. It counts already.
    Pass(R),
    /// Answer a request whose deadline has passed. It is claimed.
    Late(Claim, J),
    /// Look at what [`Desk::notify`] told of, or at the time.
    Look,
}

/// The right to answer a request. To be given back by [`Desk::finish`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Claim(u64);

impl<R, J: Clone> Desk<R, J> {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            state: Mutex::new(State {
                reader: None,
                open: Vec::new(),
                next: 0,
                epoch: 0,
                threads: 0,
                returned: 0,
                last: None,
                asleep: false,
                closing: false,
                notified: false,
            }),
            changed: Condvar::new(),
            limits,
        }
    }

    // A panic cannot leave the state half changed.
    fn lock(&self) -> MutexGuard<'_, State<R, J>> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A request was read: its handler runs from now on, and the reading end lies here. `None` where the connection
    /// is no longer the one that is served.
    pub(crate) fn begin(
        &self,
        epoch: u64,
        reader: R,
        job: J,
        now: Instant,
        deadline: Option<Instant>,
    ) -> Option<Turn> {
        let mut state = self.lock();
        if state.epoch != epoch {
            return None;
        }
        let turn = state.open(job, deadline);
        state.reader = Some(Lent {
            reader,
            turn,
            since: now,
            hurry: false,
        });
        state.last = Some(now);
        if state.asleep {
            state.asleep = false;
            self.changed.notify_one();
        }
        Some(Turn {
            id: turn,
            returned: state.returned,
            may_block: state.threads < self.limits.threads,
        })
    }

    /// The handler of `turn` has an answer: whether it is still wanted.
    pub(crate) fn claim(&self, turn: &Turn) -> Option<Claim> {
        self.lock().claim(turn.id)
    }

    /// The answer is written.
    pub(crate) fn finish(&self, claim: Claim) {
        let mut state = self.lock();
        state.open.retain(|open| open.turn != claim.0);
        self.tell(&state);
    }

    /// The handler of `turn` is through: gives the reading end back, unless another thread has it by now.
    pub(crate) fn take_back(&self, turn: &Turn) -> Option<R> {
        let mut state = self.lock();
        if state.reader.as_ref().is_some_and(|it| it.turn == turn.id) {
            return state.reader.take().map(|lent| lent.reader);
        }
        state.returned += 1;
        None
    }

    /// The handler of `turn` cannot go on before another thread comes back. False where one has come back since the
    /// turn began: then it is to try again.
    pub(crate) fn park(&self, turn: &mut Turn) -> bool {
        let mut state = self.lock();
        let returned = state.returned;
        if turn.returned != returned {
            turn.returned = returned;
            return false;
        }
        for open in &mut state.open {
            if open.turn == turn.id && open.phase == Phase::Running {
                open.phase = Phase::Parked(returned);
            }
        }
        true
    }

    /// For a thread that came back: a request that waited for one. `None` ends the thread.
    pub(crate) fn resume(&self) -> Option<(Turn, J)> {
        let mut state = self.lock();
        let returned = state.returned;
        let waiting =
            |open: &&mut Open<J>| matches!(open.phase, Phase::Parked(at) if at < returned);
        let Some(open) = state.open.iter_mut().find(waiting) else {
            state.threads -= 1;
            self.tell(&state);
            return None;
        };
        open.phase = Phase::Running;
        let turn = Turn {
            id: open.turn,
            returned,
            // It has no reading end that others wait for.
            may_block: true,
        };
        Some((turn, open.job.clone()))
    }

    /// The handler of `turn` is about to wait for the runtime: another thread has to read.
    pub(crate) fn hurry(&self, turn: &Turn) {
        let mut state = self.lock();
        if let Some(lent) = &mut state.reader
            && lent.turn == turn.id
        {
            lent.hurry = true;
            self.changed.notify_one();
        }
    }

    /// A thread starts.
    pub(crate) fn thread_starts(&self) {
        self.lock().threads += 1;
    }

    /// A thread that had the reading end, or should have got it, is gone.
    pub(crate) fn thread_ends(&self) {
        let mut state = self.lock();
        state.threads -= 1;
        self.tell(&state);
    }

    /// No thread could be had for the reading end: it lies here until the next attempt.
    pub(crate) fn put_back(&self, reader: R, now: Instant) {
        let mut state = self.lock();
        state.threads -= 1;
        let turn = state.next;
        state.next += 1;
        state.reader = Some(Lent {
            reader,
            turn,
            since: now,
            hurry: false,
        });
    }

    /// Wakes the supervisor.
    pub(crate) fn notify(&self) {
        let mut state = self.lock();
        state.notified = true;
        self.changed.notify_one();
    }

    /// From now on every answer wakes the supervisor.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
    }

    /// The connection that is served.
    pub(crate) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// Forgets the connection that has ended: whose handlers still run find their claims gone.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        state.epoch += 1;
        let ended = (state.reader.take(), std::mem::take(&mut state.open));
        state.closing = false;
        drop(state);
        drop(ended);
    }

    /// Whether the answer to the request of `turn` is still its handler's to give.
    pub(crate) fn is_open(&self, turn: &Turn) -> bool {
        let state = self.lock();
        let mut open = state.open.iter();
        open.any(|open| open.turn == turn.id && open.phase != Phase::Claimed)
    }

    /// Whether a request that `is_meant` has no answer yet.
    pub(crate) fn any_open(&self, is_meant: impl Fn(&J) -> bool) -> bool {
        let state = self.lock();
        let mut open = state.open.iter();
        open.any(|open| open.phase != Phase::Claimed && is_meant(&open.job))
    }

    /// Whether every request has its answer, written.
    pub(crate) fn is_clear(&self) -> bool {
        self.lock().open.is_empty()
    }

    /// Claims a request, whatever its deadline.
    pub(crate) fn claim_any(&self) -> Option<(Claim, J)> {
        self.lock().claim_where(|_| true)
    }

    /// What there is to do now, if anything; else when to look again.
    fn due(&self, state: &mut State<R, J>, now: Instant) -> Result<Step<R, J>, Option<Instant>> {
        if std::mem::take(&mut state.notified) {
            return Ok(Step::Look);
        }
        let can_pass = state.threads < self.limits.threads;
        let stalled = |lent: &mut Lent<R>| lent.hurry || lent.since + self.limits.stall <= now;
        if can_pass && let Some(lent) = state.reader.take_if(stalled) {
            state.threads += 1;
            return Ok(Step::Pass(lent.reader));
        }
        let is_late = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if let Some((claim, job)) = state.claim_where(|open| is_late(open.deadline)) {
            return Ok(Step::Late(claim, job));
        }
        let again = now + self.limits.stall;
        let is_recent = state.last.is_some_and(|last| last + AWAKE > now);
        let is_waiting = |open: &Open<J>| open.phase != Phase::Claimed && open.deadline.is_some();
        if state.reader.is_none() && !is_recent && !state.open.iter().any(is_waiting) {
            return Err(None);
        }
        let deadlines = state.open.iter().filter_map(|open| open.deadline);
        let soonest = deadlines.filter(|deadline| *deadline > now).min();
        let stalls = state
            .reader
            .as_ref()
            .map(|lent| lent.since + self.limits.stall);
        let stalls = stalls.filter(|stalls| *stalls > now);
        Err([Some(again), soonest, stalls].into_iter().flatten().min())
    }

    /// For the supervisor: waits until there is something to do, for `until` at most.
    pub(crate) fn next(&self, until: Option<Instant>) -> Step<R, J> {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            if until.is_some_and(|until| until <= now) {
                return Step::Look;
            }
            let again = match self.due(&mut state, now) {
                Ok(step) => return step,
                Err(again) => again,
            };
            // With requests about, it looks by itself; without, the next one wakes it.
            state.asleep = again.is_none();
            state = match again.into_iter().chain(until).min() {
                Some(again) => {
                    let waited = self.changed.wait_timeout(state, again - now);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
                None => self
                    .changed
                    .wait(state)
                    .unwrap_or_else(std::sync::PoisonError::into_inner),
            };
            state.asleep = false;
        }
    }

    /// The same without waiting, for a test that has no clock.
    #[cfg(test)]
    pub(crate) fn next_at(&self, now: Instant) -> Option<Step<R, J>> {
        let mut state = self.lock();
        self.due(&mut state, now).ok()
    }

    fn tell(&self, state: &State<R, J>) {
        if state.closing {
            self.changed.notify_one();
        }
    }
}

impl<R, J: Clone> State<R, J> {
    fn open(&mut self, job: J, deadline: Option<Instant>) -> u64 {
        let turn = self.next;
        self.next += 1;
        self.open.push(Open {
            turn,
            job,
            deadline,
            phase: Phase::Running,
        });
        turn
    }

    fn claim(&mut self, turn: u64) -> Option<Claim> {
        let mut open = self.open.iter_mut();
        let open = open.find(|open| open.turn == turn && open.phase != Phase::Claimed)?;
        open.phase = Phase::Claimed;
        Some(Claim(turn))
    }

    fn claim_where(&mut self, is_meant: impl Fn(&Open<J>) -> bool) -> Option<(Claim, J)> {
        let mut open = self.open.iter_mut();
        let open = open.find(|open| open.phase != Phase::Claimed && is_meant(open))?;
        open.phase = Phase::Claimed;
        Some((Claim(open.turn), open.job.clone()))
    }
}
