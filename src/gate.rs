//! The staging gate: containers are adjusted only while the node agent reports its tree staged, and
//! while it cannot begin to change it.

mod agent;
mod closed;
mod lookup;
#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use crate::config::StagingGate;
use crate::path::AbsolutePath;
use agent::Agent;

pub use closed::Closed;

/// The lock, held shared: as long as this lives, the node agent does not change the tree.
#[derive(Debug)]
#[must_use = "the lock is held until this is dropped"]
pub struct Held {
    _lock: File,
}

/// The way to the node agent and its lock.
#[derive(Debug)]
pub struct Gate {
    lock: AbsolutePath,
    agent: Agent,
}

impl Gate {
    /// A gate that is open while the lock can be taken shared and a GET of the URL is answered with 200.
    pub fn new(config: &StagingGate) -> Self {
        Self {
            lock: config.lock_path.clone(),
            agent: Agent::new(&config.url),
        }
    }

    /// Takes the lock, then asks the agent, for `patience` or half a second. All of it on the calling thread, which
    /// does not come back where the lock lies on a mount that hangs.
    ///
    /// # Errors
    ///
    /// Why the gate is closed.
    pub fn enter(&self, patience: Duration) -> Result<Held, Closed> {
        let begun = Instant::now();
        let lock = self.lock_shared()?;
        self.agent
            .staged(patience.saturating_sub(begun.elapsed()))?;
        Ok(Held { _lock: lock })
    }

    /// The file that is locked.
    pub fn lock_path(&self) -> &AbsolutePath {
        &self.lock
    }

    /// Why the gate is closed where [`Gate::enter`] does not come back.
    pub fn hung(&self) -> Closed {
        self.unavailable(io::Error::from(io::ErrorKind::TimedOut))
    }

    /// Opens the file anew each time, since whoever stages the tree may also replace the lock.
    fn lock_shared(&self) -> Result<File, Closed> {
        // To open a FIFO for reading waits for a writer, if it is not told not to.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let lock = rustix::fs::open(self.lock.as_ref(), flags, Mode::empty());
        let lock = File::from(lock.map_err(|errno| self.unavailable(io::Error::from(errno)))?);
        match lock.metadata() {
            Ok(metadata) if metadata.is_file() || metadata.is_dir() => {}
            Ok(_) => return Err(self.unavailable("neither a file nor a directory")),
            Err(error) => return Err(self.unavailable(error)),
        }
        match lock.try_lock_shared() {
            Ok(()) => Ok(lock),
            Err(TryLockError::WouldBlock) => Err(Closed::Staging),
            Err(TryLockError::Error(error)) => Err(self.unavailable(error)),
        }
    }

    fn unavailable(&self, cause: impl ToString) -> Closed {
        Closed::LockUnavailable {
            path: self.lock.as_ref().to_owned(),
            cause: cause.to_string(),
        }
    }
}
