//! The request to stop.

use std::fmt;
use std::io;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::panics::caught;

/// The request to stop: SIGTERM, SIGINT, or [`Stop::request`]. Clones share it.
///
/// SIGHUP is left as the process finds it: a terminal that closes ends what runs on it, and `nohup` keeps that from
/// happening.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    requested: bool,
    told: Vec<Box<dyn Fn() + Send>>,
}

impl Stop {
    /// Stops when [`Stop::request`] is called.
    #[must_use]
    pub fn by_hand() -> Self {
        Self::default()
    }

    /// Stops on the first SIGTERM or SIGINT from now on, after calling `noticed` with the signal's name. To be called
    /// first thing: before, those signals just end the process.
    ///
    /// # Errors
    ///
    /// When the system allows no handler, or no thread for it.
    pub fn on_signals(noticed: impl FnOnce(&'static str) + Send + 'static) -> io::Result<Self> {
        let stop = Self::default();
        let requested = stop.clone();
        let mut signals = Signals::new([SIGTERM, SIGINT])?;
        thread::Builder::new()
            .name("signals".into())
            .spawn(move || {
                let first = signals.forever().next();
                noticed(if first == Some(SIGINT) {
                    "SIGINT"
                } else {
                    "SIGTERM"
                });
                requested.request();
                // Further ones change nothing: what is in flight is answered.
                signals.forever().for_each(drop);
            })?;
        Ok(stop)
    }

    /// Makes the request.
    pub fn request(&self) {
        let mut state = self.lock();
        state.requested = true;
        state.told.iter().for_each(|tell| tell());
    }

    /// Whether the request was made.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        self.lock().requested
    }

    /// What `work` gives, on a thread of its own, or `None` where the request comes first.
    ///
    /// # Errors
    ///
    /// The system gives no thread, or `work` panics.
    pub fn unless_requested<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<Option<T>> {
        let (sender, first) = channel();
        let requested = sender.clone();
        // Nobody listens any more where the other was first.
        self.tell(move || drop(requested.send(None)));
        thread::Builder::new()
            .name("startup".into())
            .spawn(move || {
                let worked = caught(work).map(Some);
                let _ = sender.send(Some(worked));
            })?;
        match first.recv() {
            Ok(Some(worked)) => worked.map_err(io::Error::other),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    /// Calls `tell` when the request is made; at once where it was.
    pub(crate) fn tell(&self, tell: impl Fn() + Send + 'static) {
        let mut state = self.lock();
        if state.requested {
            tell();
        }
        state.told.push(Box::new(tell));
    }

    // Nothing in here panics halfway.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Stop({})", self.is_requested())
    }
}
