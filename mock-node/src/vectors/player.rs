//! Playing many cases, a few at a time.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::case::Case;
use super::play::{PlayError, Verdict, play};

/// Plays cases against one plugin binary.
#[derive(Clone, Debug)]
pub struct Player {
    plugin: Arc<PathBuf>,
    permits: Arc<Semaphore>,
}

impl Player {
    /// Plays against the binary at `plugin`, an absolute path since each case is played in a directory of its own.
    #[must_use]
    pub fn new(plugin: PathBuf) -> Self {
        // Most of a case is waiting: for a process, for its answers.
        let jobs = 2 * std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            plugin: Arc::new(plugin),
            permits: Arc::new(Semaphore::new(jobs)),
        }
    }

    /// Plays at most so many cases at a time. The default is two for each processor.
    #[must_use]
    pub fn jobs(self, jobs: NonZeroUsize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(jobs.get())),
            ..self
        }
    }

    /// Plays a case when its turn comes.
    pub fn start(&self, case: Case) -> JoinHandle<Result<Verdict, PlayError>> {
        let Self { plugin, permits } = self.clone();
        tokio::spawn(async move {
            // Fails only where the semaphore is closed, which nobody does.
            let _permit = permits.acquire().await;
            play(&case, &plugin).await
        })
    }
}
