//! The bounded buffer between those who log and the one thread that writes.

use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{io, thread};

use prometheus_client::metrics::counter::Counter;

/// A handle to the writer thread; clones share the thread and its buffer.
#[derive(Debug, Clone)]
pub(super) struct Writer {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when a line arrives.
    filled: Condvar,
    /// Signalled when everything taken from `state` is written.
    written: Condvar,
    limit: usize,
    dropped: Counter,
}

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    writing: bool,
}

impl Writer {
    /// Starts the thread. At most `limit` bytes wait for it; what does not fit, or cannot be written,
    /// is counted by line in `dropped`.
    pub(super) fn start<W>(out: W, limit: usize, dropped: Counter) -> io::Result<Self>
    where
        W: Write + Send + 'static,
    {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            filled: Condvar::new(),
            written: Condvar::new(),
            limit,
            dropped,
        });
        let ours = Arc::clone(&shared);
        thread::Builder::new()
            .name("log".into())
            .spawn(move || ours.write_all_to(out))?;
        Ok(Self { shared })
    }

    /// Hands over one line, or drops it when the buffer is full. Never waits for the output.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.shared.lock();
        if state.pending.len() + line.len() > self.shared.limit {
            self.shared.dropped.inc();
            return;
        }
        state.pending.extend_from_slice(line);
        self.shared.filled.notify_one();
    }

    /// Waits until all lines handed over are written, for at most `limit`.
    pub(super) fn flush(&self, limit: Duration) {
        let state = self.shared.lock();
        let waited = self
            .shared
            .written
            .wait_timeout_while(state, limit, |state| {
                state.writing || !state.pending.is_empty()
            });
        drop(waited);
    }
}

impl Shared {
    // A panic cannot leave the state half changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_all_to(&self, mut out: impl Write) {
        loop {
            let batch = self.next_batch();
            if out.write_all(&batch).and_then(|()| out.flush()).is_err() {
                let lines = batch.iter().filter(|byte| **byte == b'\n').count();
                self.dropped.inc_by(lines as u64);
            }
        }
    }

    /// Waits for lines and takes all there are. The buffer starts anew, so that a burst's memory is
    /// given back.
    fn next_batch(&self) -> Vec<u8> {
        let mut state = self.lock();
        state.writing = false;
        if state.pending.is_empty() {
            self.written.notify_all();
        }
        while state.pending.is_empty() {
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.writing = true;
        std::mem::take(&mut state.pending)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::sync::mpsc;

    /// An output that keeps what is written.
    #[derive(Debug, Clone, Default)]
    pub(in crate::logging) struct Sink(Arc<Mutex<Vec<u8>>>);

    impl Sink {
        pub(in crate::logging) fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    impl Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// An output whose reader stopped reading: each write reports that it began, then waits for a
    /// permit.
    struct Stalled {
        began: mpsc::Sender<()>,
        permits: mpsc::Receiver<()>,
        then: Sink,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.began.send(()).unwrap();
            self.permits.recv().unwrap();
            self.then.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn a_full_buffer_drops_whole_lines_and_counts_them() {
        let (began, begun) = mpsc::channel();
        let (permit, permits) = mpsc::channel();
        let sink = Sink::default();
        let dropped = Counter::default();
        let out = Stalled {
            began,
            permits,
            then: sink.clone(),
        };
        let writer = Writer::start(out, 8, dropped.clone()).unwrap();

        writer.push(b"first\n");
        begun.recv().unwrap();
        writer.push(b"second\n");
        writer.push(b"third\n");
        writer.push(b"fourth\n");
        assert_eq!(dropped.get(), 2);

        permit.send(()).unwrap();
        permit.send(()).unwrap();
        writer.flush(LONG);
        assert_eq!(sink.text(), "first\nsecond\n");
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted_as_dropped() {
        let dropped = Counter::default();
        let writer = Writer::start(Broken, 1024, dropped.clone()).unwrap();
        writer.push(b"lost\n");
        writer.flush(LONG);
        assert_eq!(dropped.get(), 1);
    }

    #[test]
    fn a_flush_gives_up_on_an_output_that_is_stuck() {
        let (began, begun) = mpsc::channel();
        let (_permit, permits) = mpsc::channel();
        let out = Stalled {
            began,
            permits,
            then: Sink::default(),
        };
        let writer = Writer::start(out, 1024, Counter::default()).unwrap();
        writer.push(b"stuck\n");
        begun.recv().unwrap();
        writer.flush(Duration::from_millis(1));
    }
}
