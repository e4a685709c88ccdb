//! File system work, on threads that may never come back.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::{JoinError, spawn_blocking};

/// A limit to how much of such work is under way. On a hung mount each piece keeps its thread for as
/// long as the mount hangs; what comes after waits here, where giving up costs nothing.
#[derive(Debug, Clone)]
pub struct Blocking {
    permits: Arc<Semaphore>,
}

impl Blocking {
    /// At most `threads` pieces of work at a time.
    pub fn new(threads: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(threads)),
        }
    }

    /// Runs `work` on a thread of the current tokio runtime. Dropping the future does not stop work
    /// that has begun.
    ///
    /// # Errors
    ///
    /// When `work` panics, or the runtime shuts down before it begins.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn work_beyond_the_limit_waits_until_a_thread_comes_back() {
        let blocking = Blocking::new(1);
        let (release, hung) = mpsc::channel::<()>();
        let hanging = blocking.run(move || hung.recv());
        assert!(timeout(Duration::from_millis(1), hanging).await.is_err());
        assert!(
            timeout(Duration::from_millis(1), blocking.run(|| ()))
                .await
                .is_err()
        );
        drop(release);
        assert_eq!(blocking.run(|| 7).await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_panic_is_told_and_frees_its_thread() {
        let blocking = Blocking::new(1);
        assert!(
            blocking
                .run(|| panic!("as tested"))
                .await
                .unwrap_err()
                .is_panic()
        );
        assert_eq!(blocking.run(|| 7).await.unwrap(), 7);
    }
}
