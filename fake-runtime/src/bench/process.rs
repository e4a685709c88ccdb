//! The process that is measured, and what the kernel tells of it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tempfile::TempDir;

use crate::process::{PluginCommand, SpawnError};
use crate::profile::REGISTRATION_TIMEOUT_MS;

/// A process that connects to a socket of its own. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) path: PathBuf,
    child: Child,
    directory: TempDir,
}

impl Process {
    /// Starts it and waits until it has connected.
    pub(super) fn start(
        path: &Path,
        args: &[OsString],
    ) -> Result<(Self, io::Result<UnixStream>), SpawnError> {
        let failed = |source| SpawnError {
            path: path.to_owned(),
            source,
        };
        let directory = tempfile::tempdir().map_err(failed)?;
        let socket = directory.path().join("nri.sock");
        let listener = UnixListener::bind(&socket).map_err(failed)?;
        let stderr = File::create(directory.path().join(STDERR)).map_err(failed)?;
        let child = PluginCommand::on_socket(path, args, &socket).spawn_unread(stderr)?;
        let process = Self {
            path: path.to_owned(),
            child,
            directory,
        };
        let stream = process.connection(&listener);
        Ok((process, stream))
    }

    fn connection(&self, listener: &UnixListener) -> io::Result<UnixStream> {
        let pidfd = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        let mut events = [
            PollFd::new(listener, PollFlags::IN),
            PollFd::new(&pidfd, PollFlags::IN),
        ];
        let limit = Timespec {
            tv_sec: REGISTRATION_TIMEOUT_MS / 1000,
            tv_nsec: 0,
        };
        poll(&mut events, Some(&limit))?;
        let [connects, _] = events;
        if connects.revents().is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it did not connect",
            ));
        }
        Ok(listener.accept()?.0)
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has: its status, and the last line of its stderr.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let stderr = fs::read(self.directory.path().join(STDERR)).unwrap_or_default();
        let exit = crate::process::Exit {
            status,
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        };
        Some(format!("it ended, {}", exit.in_short()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file that it writes its stderr to.
const STDERR: &str = "stderr";

/// What a process has used until now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usage {
    /// The processor's time of all the threads that it has.
    pub(super) cpu: Duration,
    /// Resident memory, in KiB.
    pub(super) rss_kib: u64,
    /// The most of it that there ever was, in KiB.
    pub(super) peak_rss_kib: u64,
}

impl Usage {
    /// Reads it from /proc.
    pub(super) fn of(process: u32) -> io::Result<Self> {
        let mut cpu = Duration::ZERO;
        for thread in fs::read_dir(format!("/proc/{process}/task"))? {
            // In nanoseconds, where /proc/PID/stat counts in ticks of 10 ms.
            let schedstat = match fs::read_to_string(thread?.path().join("schedstat")) {
                Err(error) if is_gone(&error) => continue,
                schedstat => schedstat?,
            };
            let on_cpu = schedstat
                .split_whitespace()
                .next()
                .and_then(|it| it.parse().ok());
            cpu += Duration::from_nanos(on_cpu.ok_or_else(|| unreadable("schedstat"))?);
        }
        let status = fs::read_to_string(format!("/proc/{process}/status"))?;
        let kib = |field: &'static str| {
            let line = status.lines().find_map(|line| line.strip_prefix(field));
            let value = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
            value.ok_or_else(|| unreadable(field))
        };
        Ok(Self {
            cpu,
            rss_kib: kib("VmRSS:")?,
            peak_rss_kib: kib("VmHWM:")?,
        })
    }
}

/// Whether a thread ended after it was listed: before its file was opened, or between that and reading it.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn unreadable(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("/proc has no {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory_and_uses_time() {
        let before = Usage::of(std::process::id()).unwrap();
        assert!(
            before.rss_kib > 0 && before.peak_rss_kib >= before.rss_kib,
            "{before:?}"
        );
        assert!(before.cpu > Duration::ZERO, "{before:?}");
    }

    #[test]
    fn threads_may_end_while_they_are_counted() {
        std::thread::scope(|scope| {
            let counting =
                scope.spawn(|| (0..500).try_for_each(|_| Usage::of(std::process::id()).map(drop)));
            while !counting.is_finished() {
                scope.spawn(|| ()).join().unwrap();
            }
            counting.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(Usage::of(u32::MAX).is_err());
    }
}
