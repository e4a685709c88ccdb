//! What the kernel tells of a process.

use std::fs;
use std::io;
use std::time::Duration;

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
