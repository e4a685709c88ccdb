//! The node agent's staging lock, as the agent holds it.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;

/// How the staging lock is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// The file exists and nobody holds a lock on it.
    #[default]
    #[serde(rename = "")]
    Free,
    /// As another reader holds it.
    Shared,
    /// As the agent holds it while it changes the tree.
    Exclusive,
}

/// The staging lock's file, held as asked until this is dropped.
///
/// A flock belongs to the open file, not to the process, so a plugin in the same process is kept out too.
#[derive(Debug)]
pub struct StagingLock {
    _file: File,
}

impl StagingLock {
    /// Creates the file at `path` if it is missing, and takes the lock without waiting.
    ///
    /// # Errors
    ///
    /// The file cannot be opened for writing, or somebody else holds the lock already.
    pub fn hold(path: &Path, hold: Hold) -> io::Result<Self> {
        let file = File::options().create(true).append(true).open(path)?;
        match hold {
            Hold::Free => {}
            Hold::Shared => flock(&file, FlockOperation::NonBlockingLockShared)?,
            Hold::Exclusive => flock(&file, FlockOperation::NonBlockingLockExclusive)?,
        }
        Ok(Self { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exclusive_hold_keeps_readers_out_until_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let agent = StagingLock::hold(&path, Hold::Exclusive).unwrap();
        assert!(StagingLock::hold(&path, Hold::Shared).is_err());
        drop(agent);
        let reader = StagingLock::hold(&path, Hold::Shared).unwrap();
        assert!(
            StagingLock::hold(&path, Hold::Shared).is_ok(),
            "readers share"
        );
        drop(reader);
    }
}
