//! Whether the host's file system answers.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The shortest time from one attempt to read the disk again to the next.
const AGAIN: Duration = Duration::from_secs(1);

type Read = Box<dyn Fn() -> bool + Send + Sync>;

/// In doubt from the first container that was left alone because the disk could not be read, until it can be.
#[derive(Default)]
pub(super) struct Disk {
    in_doubt: AtomicBool,
    attempt: Mutex<Attempt>,
    read: OnceLock<Read>,
}

#[derive(Default)]
struct Attempt {
    begun: Option<Instant>,
    /// It may never end.
    under_way: bool,
}

impl Disk {
    pub(super) fn reads_again_by(&self, read: Read) {
        // One who answers containers is enough.
        let _ = self.read.set(read);
    }

    pub(super) fn hangs(&self) {
        self.in_doubt.store(true, Ordering::Relaxed);
    }

    pub(super) fn answers(&self) {
        // Nearly always it is not, and a look is cheaper than a change.
        if self.in_doubt.load(Ordering::Relaxed) {
            self.in_doubt.store(false, Ordering::Relaxed);
        }
    }

    /// Whether it is in doubt as of `now`. Then it is read again in the background: one attempt at a time, and one a
    /// second at most.
    pub(super) fn is_in_doubt(self: &Arc<Self>, now: Instant) -> bool {
        let in_doubt = self.in_doubt.load(Ordering::Relaxed);
        if in_doubt {
            self.read_again(now);
        }
        in_doubt
    }

    fn read_again(self: &Arc<Self>, now: Instant) {
        let mut attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fresh = |begun: Instant| now.saturating_duration_since(begun) < AGAIN;
        if attempt.under_way || attempt.begun.is_some_and(is_fresh) {
            return;
        }
        attempt.begun = Some(now);
        let this = Arc::clone(self);
        let reading = thread::Builder::new().name("read-again".into());
        // Without a thread it stays in doubt, and rightly so.
        attempt.under_way = reading.spawn(move || this.attempt()).is_ok();
    }

    fn attempt(&self) {
        let reads = || self.read.get().is_some_and(|read| read());
        // A panic is logged by then, and tells nothing of the disk.
        if crate::panics::caught(reads) == Ok(true) {
            self.answers();
        }
        let mut attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        attempt.under_way = false;
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Disk(in doubt: {:?})", self.in_doubt)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_disk_that_did_not_answer_is_in_doubt_until_a_container_is_decided_by_it() {
        let disk = Arc::new(Disk::default());
        assert!(!disk.is_in_doubt(Instant::now()));
        disk.hangs();
        assert!(disk.is_in_doubt(Instant::now()));
        disk.answers();
        assert!(!disk.is_in_doubt(Instant::now()));
    }

    #[test]
    fn a_disk_in_doubt_is_read_again_once_a_second_and_by_one_thread_at_a_time() {
        let disk = Arc::new(Disk::default());
        let (began, attempts) = channel();
        let (let_end, end) = channel();
        let end = Mutex::new(end);
        disk.reads_again_by(Box::new(move || {
            began.send(()).unwrap();
            end.lock().unwrap().recv().unwrap()
        }));
        disk.hangs();
        let begun = Instant::now();
        assert!(disk.is_in_doubt(begun));
        attempts.recv().unwrap();
        // It does not come back: no second one joins it.
        assert!(disk.is_in_doubt(begun + 5 * AGAIN));
        let_end.send(false).unwrap();
        let is_over = || !disk.attempt.lock().unwrap().under_way;
        while !is_over() {
            thread::yield_now();
        }
        assert!(disk.is_in_doubt(begun + AGAIN / 2));
        assert!(is_over(), "not again within the second");
        assert!(disk.is_in_doubt(begun + AGAIN));
        attempts.recv().unwrap();
        let_end.send(true).unwrap();
        while disk.is_in_doubt(begun + AGAIN) {
            thread::yield_now();
        }
        assert!(attempts.try_recv().is_err());
    }
}
