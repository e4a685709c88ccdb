//! The staging gate: containers are adjusted only while the node agent reports its tree staged, and
//! while it cannot begin to change it.

mod agent;

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::time::{Instant, error::Elapsed, timeout};

use crate::blocking::Blocking;
use crate::config::{AgentUrl, StagingGate};

/// How long taking the lock may take; it waits for nobody, but its file may lie on a hung mount.
const LOCK_LIMIT: Duration = Duration::from_millis(500);

/// How many threads may be about taking the lock.
const MAX_LOCKING: usize = 4;

/// Why the gate is closed.
#[derive(Debug, Error)]
pub enum Closed {
    /// There is no lock to take.
    #[error("staging lock unavailable: {}: {error}", path.display())]
    LockUnavailable {
        /// The lock file.
        path: PathBuf,
        /// What opening or locking it met with.
        error: io::Error,
    },
    /// The node agent holds the lock.
    #[error("node agent is staging")]
    Staging,
    /// Nobody answered, or not in time.
    #[error("node agent unreachable: {0}")]
    Unreachable(String),
    /// The node agent answered with something else than 200.
    #[error("node agent has not staged the driver tree")]
    NotStaged,
}

impl Closed {
    /// The kind of reason without what varies, as a metric's label.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::LockUnavailable { .. } => "staging lock unavailable",
            Self::Staging => "node agent is staging",
            Self::Unreachable(_) => "node agent unreachable",
            Self::NotStaged => "node agent has not staged the driver tree",
        }
    }
}

/// The lock, held shared: as long as this lives, the node agent does not change the tree.
#[derive(Debug)]
#[must_use = "the lock is held until this is dropped"]
pub struct Held {
    _lock: File,
}

/// The way to the node agent and its lock.
#[derive(Debug)]
pub struct Gate {
    lock: PathBuf,
    agent: AgentUrl,
    locking: Blocking,
}

impl Gate {
    /// A gate that is open while the lock can be taken shared and a GET of the URL is answered with 200.
    pub fn new(config: &StagingGate) -> Self {
        let lock = config.lock_path.as_ref().to_owned();
        let locking = Blocking::new(MAX_LOCKING);
        Self {
            lock,
            agent: config.url.clone(),
            locking,
        }
    }

    /// Takes the lock, then asks the agent, and gives up after `patience`, or what each of them is given if that
    /// is less: both together a second. Must run on a tokio runtime.
    ///
    /// # Errors
    ///
    /// Why the gate is closed.
    pub async fn enter(&self, patience: Duration) -> Result<Held, Closed> {
        let begun = Instant::now();
        let lock = match timeout(LOCK_LIMIT.min(patience), self.lock_shared()).await {
            Ok(locked) => locked?,
            Err(Elapsed { .. }) => return Err(self.unavailable(io::ErrorKind::TimedOut.into())),
        };
        agent::staged(&self.agent, patience.saturating_sub(begun.elapsed())).await?;
        Ok(Held { _lock: lock })
    }

    /// Opens the file anew each time, since whoever stages the tree may also replace the lock.
    async fn lock_shared(&self) -> Result<File, Closed> {
        let path = self.lock.clone();
        let locking = self.locking.run(move || {
            let file = File::open(path).map_err(TryLockError::Error)?;
            file.try_lock_shared().map(|()| file)
        });
        match locking.await {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(TryLockError::WouldBlock)) => Err(Closed::Staging),
            Ok(Err(TryLockError::Error(error))) => Err(self.unavailable(error)),
            Err(lost) => Err(self.unavailable(io::Error::other(lost))),
        }
    }

    fn unavailable(&self, error: io::Error) -> Closed {
        Closed::LockUnavailable {
            path: self.lock.clone(),
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::path::AbsolutePath;

    /// A node agent that gives every request the same answer. Returns its port.
    async fn agent(answer: &'static str) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let request = String::from_utf8(request).unwrap();
                assert!(
                    request.starts_with("GET /stagedz?a=b HTTP/1.1\r\n"),
                    "{request}"
                );
                assert!(
                    request.contains(&format!("host: 127.0.0.1:{port}\r\n")),
                    "{request}"
                );
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        port
    }

    fn gate(lock: &Path, port: u16) -> Gate {
        let url = AgentUrl {
            host: "127.0.0.1".into(),
            port,
            path: "/stagedz?a=b".into(),
        };
        let lock_path = AbsolutePath::new(lock.to_str().unwrap()).unwrap();
        Gate::new(&StagingGate { url, lock_path })
    }

    fn lock_file() -> (TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let lock = dir.path().join("staging.lock");
        File::create(&lock).unwrap();
        (dir, lock)
    }

    async fn reason(gate: &Gate) -> String {
        gate.enter(LONG).await.unwrap_err().to_string()
    }

    const LONG: Duration = Duration::from_secs(60);

    const STAGED: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    #[tokio::test]
    async fn an_open_gate_holds_the_lock_shared_until_it_is_left() {
        let (_dir, lock) = lock_file();
        let gate = gate(&lock, agent(STAGED).await);
        let stager = File::open(&lock).unwrap();
        let first = gate.enter(LONG).await.unwrap();
        let second = gate.enter(LONG).await.unwrap();
        drop(first);
        assert!(matches!(stager.try_lock(), Err(TryLockError::WouldBlock)));
        drop(second);
        stager.try_lock().unwrap();
    }

    #[tokio::test]
    async fn a_staging_node_agent_closes_the_gate() {
        let (_dir, lock) = lock_file();
        let gate = gate(&lock, agent(STAGED).await);
        let stager = File::open(&lock).unwrap();
        stager.lock().unwrap();
        assert_eq!(reason(&gate).await, "node agent is staging");
        drop(stager);
        assert!(gate.enter(LONG).await.is_ok());
    }

    #[tokio::test]
    async fn a_lock_file_that_appears_later_opens_the_gate() {
        let (dir, _) = lock_file();
        let lock = dir.path().join("later.lock");
        let gate = gate(&lock, agent(STAGED).await);
        assert_eq!(
            reason(&gate).await,
            format!(
                "staging lock unavailable: {}: No such file or directory (os error 2)",
                lock.display()
            )
        );
        File::create(&lock).unwrap();
        assert!(gate.enter(LONG).await.is_ok());
    }

    #[tokio::test]
    async fn a_lock_that_cannot_be_opened_in_time_closes_the_gate() {
        let dir = tempfile::tempdir().unwrap();
        // Opening a FIFO that nobody writes to waits for ever, as a hung mount would.
        let lock = dir.path().join("fifo");
        mknodat(CWD, &lock, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let gate = gate(&lock, 1);
        let closed = gate.enter(LONG).await.unwrap_err();
        // Lets the opening thread go, without which the test's runtime would not end. For reading too, so that
        // this open never waits itself.
        let both = File::options().read(true).write(true).open(&lock);
        both.unwrap();
        assert_eq!(closed.kind(), "staging lock unavailable");
        assert!(closed.to_string().ends_with("timed out"), "{closed}");
    }

    #[tokio::test]
    async fn only_a_plain_200_opens_the_gate() {
        let (_dir, lock) = lock_file();
        for answer in [
            "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 302 Found\r\nlocation: /\r\ncontent-length: 0\r\n\r\n",
        ] {
            let gate = gate(&lock, agent(answer).await);
            assert_eq!(
                reason(&gate).await,
                "node agent has not staged the driver tree"
            );
        }
    }

    #[tokio::test]
    async fn an_agent_that_is_not_there_is_unreachable() {
        let (_dir, lock) = lock_file();
        let port = TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        assert_eq!(
            reason(&gate(&lock, port)).await,
            "node agent unreachable: Connection refused (os error 111)"
        );
    }

    #[tokio::test]
    async fn an_agent_that_does_not_speak_http_is_unreachable() {
        let (_dir, lock) = lock_file();
        let gate = gate(&lock, agent("hello\r\n\r\n").await);
        let reason = reason(&gate).await;
        assert!(reason.starts_with("node agent unreachable: "), "{reason}");
    }

    #[tokio::test]
    async fn an_agent_that_answers_without_an_end_is_not_read_to_it() {
        let (_dir, lock) = lock_file();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // Faster than it can be read, so that reading alone never waits.
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let not_yet = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
            while std::io::Write::write_all(&mut stream, not_yet.as_bytes()).is_ok() {}
        });
        // What is cut off is wrong in one way or another, and not late.
        let reason = reason(&gate(&lock, port)).await;
        assert!(reason.starts_with("node agent unreachable: "), "{reason}");
        assert!(!reason.contains("no answer within"), "{reason}");
    }

    #[tokio::test]
    async fn an_agent_that_is_silent_for_half_a_second_is_unreachable() {
        let (_dir, lock) = lock_file();
        // The kernel accepts, nobody answers.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let gate = gate(&lock, listener.local_addr().unwrap().port());
        assert_eq!(
            reason(&gate).await,
            "node agent unreachable: no answer within 500ms"
        );
    }
}
