//! The plugin's side of its life with the runtime: the supervisor, which never waits for anything but time and news,
//! connects, steps in where a handler hangs, and stops.

mod serve;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use nri_proto::wire::CallError;

use crate::backoff::Backoff;
use crate::call::Job;
use crate::connect::Origin;
use crate::connection::Connection;
use crate::desk::{self, Claim, Desk, Step};
use crate::error::Error;
use crate::life::Life;
use crate::panics::caught;
use crate::plugin::Plugin;
use crate::reader::Reader;
use crate::stop::Stop;

/// A plugin that runs.
pub(crate) struct Session {
    plugin: Plugin,
    desk: Desk<Reader, Arc<Job>>,
    progress: Mutex<Progress>,
}

/// How far the connection has come. Each change is told to the supervisor by [`Desk::notify`].
#[derive(Default)]
struct Progress {
    /// Which connection this is.
    epoch: u64,
    connection: Option<Arc<Connection>>,
    /// The runtime has accepted the registration.
    accepted: bool,
    /// It has told of itself: this is what being registered means.
    configured: bool,
    /// Until when the next step is waited for.
    limit: Option<Instant>,
    /// Nothing more is read, and why.
    ended: Option<Error>,
}

impl Session {
    pub(crate) fn new(plugin: Plugin) -> Arc<Self> {
        let limits = desk::Limits {
            stall: plugin.limits.stall,
            threads: plugin.limits.threads,
        };
        Arc::new(Self {
            plugin,
            desk: Desk::new(limits),
            progress: Mutex::default(),
        })
    }

    /// Serves the runtime until `stop`. Never more than one connection is open.
    pub(crate) fn run(self: &Arc<Self>, stop: &Stop) -> Result<(), Error> {
        let this = Arc::downgrade(self);
        stop.tell(move || {
            if let Some(this) = this.upgrade() {
                this.desk.notify();
            }
        });
        let mut backoff = Backoff::default();
        let mut first = true;
        let mut last_failure = None;
        loop {
            let begun = Instant::now();
            let Err(error) = self.connection(stop, first) else {
                return Ok(());
            };
            // A runtime that stops along with the plugin may be quicker.
            if stop.is_requested() {
                return Ok(());
            }
            let was_registered = matches!(error, Error::Lost(_));
            // While the runtime stays away every attempt fails the same way.
            let failure = error.to_string();
            (self.plugin.observe)(Life::Unregistered {
                error: &error,
                was_registered,
                repeated: last_failure.as_ref() == Some(&failure),
            });
            let is_only = self.plugin.once || self.plugin.origin.is_prelaunched();
            if (first && !was_registered) || is_only {
                return Err(error);
            }
            first = false;
            last_failure = Some(failure);
            if was_registered {
                backoff.lost_after(begun.elapsed());
            }
            let until = Instant::now() + backoff.delay();
            while Instant::now() < until {
                if stop.is_requested() {
                    return Ok(());
                }
                self.desk.next(Some(until));
            }
        }
    }

    /// One connection, from its beginning to its end. Without an error it ended because the plugin is to stop.
    fn connection(self: &Arc<Self>, stop: &Stop, first: bool) -> Result<(), Error> {
        let epoch = self.desk.epoch();
        *self.progress() = Progress {
            epoch,
            // Later, a connection that is not accepted is waited for: another attempt would fare no better.
            limit: self.limit().filter(|_| first),
            ..Progress::default()
        };
        self.desk.thread_starts();
        if let Err(error) = self.spawn(move |session| session.connect(epoch)) {
            self.desk.thread_ends();
            return Err(Error::NoThread(error));
        }
        let ended = self.supervise(stop);
        if let Some(connection) = self.progress().connection.take() {
            connection.close();
        }
        self.desk.clear();
        ended
    }

    fn supervise(self: &Arc<Self>, stop: &Stop) -> Result<(), Error> {
        let mut drained_by = None;
        loop {
            let now = Instant::now();
            if drained_by.is_none() && stop.is_requested() {
                let Some(connection) = self.progress().connection.clone() else {
                    return Ok(());
                };
                drained_by = Some(now + self.plugin.limits.drain);
                self.desk.close();
                connection.stop_reading();
            }
            let limit = {
                let mut progress = self.progress();
                match drained_by {
                    None => {
                        if let Some(error) = progress.ended.take() {
                            return Err(error);
                        }
                        if progress.limit.is_some_and(|limit| limit <= now) {
                            return Err(self.overdue(&progress));
                        }
                        progress.limit
                    }
                    Some(drained_by) => {
                        if drained_by <= now {
                            drop(progress);
                            while let Some((claim, job)) = self.desk.claim_any() {
                                self.answer_late(claim, &job);
                            }
                            return Ok(());
                        }
                        let connection = progress.connection.as_ref();
                        let is_flushed = connection.is_none_or(|it| it.is_flushed());
                        if progress.ended.is_some() && self.desk.is_clear() && is_flushed {
                            return Ok(());
                        }
                        Some(drained_by)
                    }
                }
            };
            match self.desk.next(limit) {
                Step::Pass(reader) => self.pass(reader),
                Step::Late(claim, job) => self.answer_late(claim, &job),
                Step::Look => {}
            }
        }
    }

    /// Until when the next step of a registration is waited for. A plugin that the runtime started does not end before
    /// its connection: containerd 1.7 does not start over one that does.
    fn limit(&self) -> Option<Instant> {
        let is_limited = !self.plugin.origin.is_prelaunched();
        is_limited.then(|| Instant::now() + self.plugin.limits.registration)
    }

    /// What has not happened in time.
    fn overdue(&self, progress: &Progress) -> Error {
        let limit = self.plugin.limits.registration;
        if progress.accepted {
            return Error::NotConfigured(limit);
        }
        match (&progress.connection, &self.plugin.origin) {
            (None, Origin::Socket(path)) => Error::NotConnected {
                path: path.clone(),
                limit,
            },
            _ => self.refused(CallError::DeadlineExceeded(limit)),
        }
    }

    fn refused(&self, cause: CallError) -> Error {
        Error::Refused {
            index: self.plugin.identity.index.clone(),
            name: self.plugin.identity.name.clone(),
            cause,
        }
    }

    /// Has another thread read on.
    fn pass(self: &Arc<Self>, reader: Reader) {
        let epoch = self.progress().epoch;
        let reader = Arc::new(Mutex::new(Some(reader)));
        let passed = Arc::clone(&reader);
        let take = |reader: &Mutex<Option<Reader>>| {
            let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
            reader.take()
        };
        let spawned = self.spawn(move |session| match take(&passed) {
            Some(reader) => session.read_on(epoch, reader),
            None => session.desk.thread_ends(),
        });
        if spawned.is_err()
            && let Some(reader) = take(&reader)
        {
            self.desk.put_back(reader, Instant::now());
        }
    }

    fn answer_late(&self, claim: Claim, job: &Job) {
        let answer = job
            .take_late()
            .map(|late| caught(late).unwrap_or(Ok(Vec::new())));
        let answer = answer.unwrap_or(Ok(Vec::new()));
        job.connection
            .answer_at_once(job.stream, job.weight, answer);
        self.desk.finish(claim);
    }

    fn spawn(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) + Send + 'static) -> io::Result<()> {
        let this = Arc::clone(self);
        let thread = thread::Builder::new().name("nri".into());
        thread.spawn(move || work(this)).map(drop)
    }

    // No panic leaves it half changed.
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time that the runtime gives a request, less what the answer takes to get back.
    fn budget(&self, told: Duration, asked: Option<Duration>) -> Option<Duration> {
        let patience = asked.map_or(told, |asked| asked.min(told));
        self.plugin.limits.deadlines.then_some(patience * 4 / 5)
    }
}
