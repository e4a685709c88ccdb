//! What the session knows about itself and the probes tell: registered or not, and for how long the
//! oldest request has been in flight, and whether the disk answers.

mod disk;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::gate::Closed;
use crate::metrics::Metrics;
use disk::Disk;

/// The request timeout of a runtime that tells none: what NRI's own client library assumes.
const FALLBACK_REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// A request in flight for more than this many request timeouts is wedged. The second one is grace: a
/// single slow request that completes must not get the process restarted.
const WEDGED_AFTER_TIMEOUTS: u32 = 2;

/// Why a probe fails; the text is the body's `reason`.
#[derive(Debug, Error)]
pub enum Unhealthy {
    /// The runtime does not ask this plugin about containers.
    #[error("not registered with the container runtime; new containers are not being injected")]
    NotRegistered,
    /// A request hangs, as it does on a hung mount.
    #[error(
        "wedged: a container request has been in flight for {age:?}, past the {limit:?} threshold"
    )]
    Wedged {
        /// How long the oldest request has been in flight, to the millisecond.
        age: Duration,
        /// How long it may be.
        limit: Duration,
    },
    /// The process cannot do what it is configured to.
    #[error("not injecting new containers: {0}")]
    Misconfigured(String),
    /// The staging gate is closed.
    #[error("not injecting new containers: {0}")]
    Gated(#[from] Closed),
    /// A container was left alone because the disk could not be read in time.
    #[error("not injecting new containers: the host's file system does not answer")]
    DiskHangs,
}

/// The state that the session writes and the probes read, from different threads.
#[derive(Debug)]
pub struct Health {
    metrics: Metrics,
    request_timeout_ms: AtomicU64,
    misconfigured: OnceLock<String>,
    in_flight: Mutex<InFlight>,
    disk: Arc<Disk>,
}

#[derive(Debug, Default)]
struct InFlight {
    /// Rises with every request, so that the first entry is the oldest.
    next: u64,
    started: BTreeMap<u64, Instant>,
}

impl Health {
    /// Not registered, nothing in flight. The gauges of `metrics` follow.
    pub fn new(metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            metrics,
            request_timeout_ms: AtomicU64::new(0),
            misconfigured: OnceLock::new(),
            in_flight: Mutex::default(),
            disk: Arc::default(),
        })
    }

    /// The runtime configured the plugin and gives each request `request_timeout_ms` milliseconds (0:
    /// not told). Returns which registration of the process this is, from 1 on.
    pub fn registered(&self, request_timeout_ms: u64) -> u64 {
        self.request_timeout_ms
            .store(request_timeout_ms, Ordering::Relaxed);
        self.metrics.registered.set(1);
        self.metrics.registrations.inc() + 1
    }

    /// The connection on which the plugin was registered, if it was, is gone.
    pub fn unregistered(&self) {
        if self.metrics.registered.set(0) == 1 {
            self.metrics.connection_losses.inc();
        }
    }

    /// How long the runtime waits for an answer.
    pub fn request_timeout(&self) -> Duration {
        match self.request_timeout_ms.load(Ordering::Relaxed) {
            0 => FALLBACK_REQUEST_TIMEOUT,
            told => Duration::from_millis(told),
        }
    }

    /// A CreateContainer request begins; it is in flight until what is returned goes, also after the runtime got an
    /// answer.
    pub fn begin(self: &Arc<Self>) -> Ticket {
        let mut in_flight = self.in_flight();
        let id = in_flight.next;
        in_flight.next += 1;
        in_flight.started.insert(id, Instant::now());
        self.metrics.requests_in_flight.inc();
        Ticket {
            health: Arc::clone(self),
            id,
        }
    }

    /// By what the disk is read again where it has not answered. Says whether it does.
    pub fn reads_again_by(&self, read: impl Fn() -> bool + Send + Sync + 'static) {
        self.disk.reads_again_by(Box::new(read));
    }

    /// A container was left alone because the disk could not be read in time.
    pub fn disk_hangs(&self) {
        self.disk.hangs();
    }

    /// A container was decided by what is on the disk.
    pub fn disk_answers(&self) {
        self.disk.answers();
    }

    /// Whether the disk answered when it was read last. Where it did not, it is read again, for the next who asks.
    ///
    /// # Errors
    ///
    /// [`Unhealthy::DiskHangs`].
    pub fn check_disk(&self, now: Instant) -> Result<(), Unhealthy> {
        if self.disk.is_in_doubt(now) {
            Err(Unhealthy::DiskHangs)
        } else {
            Ok(())
        }
    }

    /// Whether the runtime asks this plugin about new containers.
    ///
    /// # Errors
    ///
    /// [`Unhealthy::NotRegistered`].
    pub fn check_registered(&self) -> Result<(), Unhealthy> {
        if self.metrics.registered.get() == 0 {
            Err(Unhealthy::NotRegistered)
        } else {
            Ok(())
        }
    }

    /// Nothing is injected for as long as the process lives, because of `error`.
    pub fn misconfigured(&self, error: &impl ToString) {
        let _ = self.misconfigured.set(error.to_string());
    }

    /// Whether the process does what it is configured to.
    ///
    /// # Errors
    ///
    /// [`Unhealthy::Misconfigured`].
    pub fn check_configured(&self) -> Result<(), Unhealthy> {
        match self.misconfigured.get() {
            Some(error) => Err(Unhealthy::Misconfigured(error.clone())),
            None => Ok(()),
        }
    }

    /// Whether all requests that are in flight at `now` may still be expected to end.
    ///
    /// # Errors
    ///
    /// [`Unhealthy::Wedged`].
    pub fn check_wedged(&self, now: Instant) -> Result<(), Unhealthy> {
        let limit = self.request_timeout() * WEDGED_AFTER_TIMEOUTS;
        let Some(oldest) = self.in_flight().started.values().next().copied() else {
            return Ok(());
        };
        let age = now.saturating_duration_since(oldest);
        if age <= limit {
            return Ok(());
        }
        let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        Err(Unhealthy::Wedged {
            age: Duration::from_millis(millis),
            limit,
        })
    }

    // Each change is a single step, so a lock poisoned by a panic is as good as any.
    fn in_flight(&self) -> MutexGuard<'_, InFlight> {
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request in flight, for as long as anybody works for it: work that hangs is what `/healthz` is there to find.
#[derive(Debug)]
pub struct Ticket {
    health: Arc<Health>,
    id: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.health.in_flight().started.remove(&self.id);
        self.health.metrics.requests_in_flight.dec();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wedged_after(health: &Health, age: Duration) -> Option<String> {
        let now = Instant::now() + age;
        health
            .check_wedged(now)
            .err()
            .map(|unhealthy| unhealthy.to_string())
    }

    #[test]
    fn a_request_is_wedged_after_twice_the_timeout_that_the_runtime_told() {
        let health = Health::new(Metrics::default());
        health.registered(20_000);
        let _ticket = health.begin();
        assert_eq!(wedged_after(&health, Duration::from_secs(30)), None);
        let reason = wedged_after(&health, Duration::from_secs(50)).unwrap();
        let told = reason.strip_prefix("wedged: a container request has been in flight for 5");
        assert!(
            told.is_some_and(|told| told.ends_with("s, past the 40s threshold")),
            "{reason}"
        );
    }

    #[test]
    fn a_runtime_that_tells_no_timeout_gives_two_seconds() {
        let health = Health::new(Metrics::default());
        health.registered(0);
        let _ticket = health.begin();
        assert_eq!(wedged_after(&health, Duration::from_secs(3)), None);
        let reason = wedged_after(&health, Duration::from_secs(5)).unwrap();
        assert!(reason.ends_with("past the 4s threshold"), "{reason}");
    }

    #[test]
    fn a_request_is_in_flight_until_nobody_works_for_it() {
        let metrics = Metrics::default();
        let health = Health::new(metrics.clone());
        let ticket = health.begin();
        assert_eq!(metrics.requests_in_flight.get(), 1);
        assert!(wedged_after(&health, Duration::from_secs(5)).is_some());
        drop(ticket);
        assert_eq!(metrics.requests_in_flight.get(), 0);
        assert_eq!(wedged_after(&health, Duration::from_secs(5)), None);
    }

    #[test]
    fn the_oldest_request_counts() {
        let health = Health::new(Metrics::default());
        let oldest = health.begin();
        let later = Instant::now() + Duration::from_secs(5);
        drop(health.begin());
        assert!(health.check_wedged(later).is_err());
        drop(oldest);
        assert!(health.check_wedged(later).is_ok());
    }

    #[test]
    fn only_a_registration_can_be_lost() {
        let metrics = Metrics::default();
        let health = Health::new(metrics.clone());
        health.unregistered();
        assert_eq!(metrics.connection_losses.get(), 0);
        health.registered(0);
        assert!(health.check_registered().is_ok());
        health.unregistered();
        assert!(health.check_registered().is_err());
        assert_eq!(metrics.connection_losses.get(), 1);
    }
}
