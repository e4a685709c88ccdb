//! One connection to the runtime: writing on it, and the calls that wait for an answer.

use std::collections::VecDeque;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use bytes::{Buf, Bytes};
use nri_proto::api::runtime;
use nri_proto::wire::{
    self, CallError, MAX_BODY, MAX_UNANSWERED, REQUEST, Side, Split, Status, envelope,
};
use prost::Message as _;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::runtime::Runtime;

/// This process's end.
const SIDE: Side = Side::Plugin;

#[derive(Debug)]
pub(crate) struct Connection {
    socket: UnixStream,
    outgoing: Mutex<Outgoing>,
    /// What the requests count for whose answers are not written yet.
    unanswered: AtomicU32,
    calls: Mutex<Calls>,
    runtime: Mutex<Arc<Runtime>>,
}

#[derive(Debug, Default)]
struct Outgoing {
    queue: VecDeque<Item>,
    /// Some thread writes: it takes what is queued meanwhile along.
    writing: bool,
}

#[derive(Debug)]
struct Item {
    bytes: Bytes,
    /// What the answered request counted for.
    weight: u32,
}

#[derive(Debug, Default)]
struct Calls {
    /// How many were made: a client's stream ids are odd and rise.
    made: u32,
    waiting: Vec<(u32, Sender<Answer>)>,
    closed: bool,
}

pub(crate) type Answer = Result<Bytes, CallError>;

impl Connection {
    pub(crate) fn new(socket: UnixStream, runtime: Runtime) -> Arc<Self> {
        Arc::new(Self {
            socket,
            outgoing: Mutex::default(),
            unanswered: AtomicU32::new(0),
            calls: Mutex::default(),
            runtime: Mutex::new(Arc::new(runtime)),
        })
    }

    /// Where requests and answers come from.
    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// What is known of the runtime.
    pub(crate) fn runtime(&self) -> Arc<Runtime> {
        Arc::clone(&lock(&self.runtime))
    }

    /// Configure told of the runtime.
    pub(crate) fn configured(&self, runtime: Runtime) -> Arc<Runtime> {
        let runtime = Arc::new(runtime);
        *lock(&self.runtime) = Arc::clone(&runtime);
        runtime
    }

    /// Takes no more from the runtime. What it has sent by now can still be read.
    pub(crate) fn stop_reading(&self) {
        // It fails where the runtime has gone, which ends the reading as well.
        let _ = self.socket.shutdown(Shutdown::Read);
    }

    /// Ends the connection: who reads or writes it notices, and every call fails.
    pub(crate) fn close(&self) {
        let _ = self.socket.shutdown(Shutdown::Both);
        let mut calls = lock(&self.calls);
        calls.closed = true;
        calls.waiting.clear();
    }

    /// Whether another request of this weight is one too many.
    pub(crate) fn is_flooded_by(&self, weight: u32) -> bool {
        self.unanswered.fetch_add(weight, Ordering::Relaxed) > MAX_UNANSWERED - weight
    }

    /// Writes the answer to the request of `stream`, which counted for `weight`. Where the runtime does not read, only
    /// one thread waits for it.
    pub(crate) fn answer(&self, stream: u32, weight: u32, answer: Result<Vec<u8>, Status>) {
        if self.queue(Item::answer(stream, weight, answer)) {
            // That the connection has ended is for the thread to see that reads it.
            let _ = self.write(SendFlags::NOSIGNAL);
        }
    }

    /// The same by a thread that must never wait.
    pub(crate) fn answer_at_once(
        self: &Arc<Self>,
        stream: u32,
        weight: u32,
        answer: Result<Vec<u8>, Status>,
    ) {
        if !self.queue(Item::answer(stream, weight, answer)) {
            return;
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if self.write(flags) == Err(Errno::WOULDBLOCK) {
            let this = Arc::clone(self);
            let writing = thread::Builder::new().name("nri-write".into());
            let waiting = writing.spawn(move || this.write(SendFlags::NOSIGNAL));
            if waiting.is_err() {
                // Neither does the runtime read, nor is there a thread to wait until it does.
                self.close();
            }
        }
    }

    /// Whether all that was to be written is.
    pub(crate) fn is_flushed(&self) -> bool {
        !lock(&self.outgoing).writing
    }

    /// Calls a method of the runtime's service. Returns the stream id, and where the answer comes; that is
    /// disconnected when the connection ends.
    pub(crate) fn call(
        &self,
        method: &str,
        request: &impl prost::Message,
    ) -> Result<(u32, Receiver<Answer>), CallError> {
        let envelope = envelope::Request {
            service: runtime::SERVICE.to_owned(),
            method: method.to_owned(),
            payload: request.encode_to_vec().into(),
            timeout_nano: 0,
        };
        let length = envelope.encoded_len();
        if length > MAX_BODY {
            return Err(CallError::RequestTooLarge(length));
        }
        let (sender, answer) = channel();
        // Ids have to rise on the wire, so that no other call can come between.
        let mut calls = lock(&self.calls);
        if calls.closed {
            return Err(CallError::Closed);
        }
        let made = calls.made;
        let stream = made.checked_mul(2).and_then(|id| id.checked_add(1));
        let stream = stream.ok_or(CallError::NoStreamLeft)?;
        calls.made += 1;
        calls.waiting.push((stream, sender));
        let bytes = Split::CONTAINERD.frames(SIDE.calls(), stream, REQUEST, &envelope);
        let writes = self.queue(Item { bytes, weight: 0 });
        drop(calls);
        if writes {
            let _ = self.write(SendFlags::NOSIGNAL);
        }
        Ok((stream, answer))
    }

    /// Gives an answer to who waits for it, if anybody does.
    pub(crate) fn settle(&self, stream: u32, answer: Answer) {
        let mut calls = lock(&self.calls);
        if let Some(at) = calls.waiting.iter().position(|(id, _)| *id == stream) {
            // Who has gone meanwhile needs no answer.
            let _ = calls.waiting.swap_remove(at).1.send(answer);
        }
    }

    /// Queues bytes, and says whether the caller has to write them.
    fn queue(&self, item: Item) -> bool {
        let mut outgoing = lock(&self.outgoing);
        outgoing.queue.push_back(item);
        !std::mem::replace(&mut outgoing.writing, true)
    }

    /// Writes what is queued. What would wait is left, for another call; a connection that has ended takes nothing.
    fn write(&self, flags: SendFlags) -> Result<(), Errno> {
        loop {
            let item = {
                let mut outgoing = lock(&self.outgoing);
                let Some(item) = outgoing.queue.pop_front() else {
                    outgoing.writing = false;
                    return Ok(());
                };
                item
            };
            let Item { mut bytes, weight } = item;
            while bytes.has_remaining() {
                match send(&self.socket, &bytes, flags) {
                    Ok(written) => bytes.advance(written),
                    Err(Errno::INTR) => {}
                    Err(Errno::WOULDBLOCK) => {
                        lock(&self.outgoing)
                            .queue
                            .push_front(Item { bytes, weight });
                        return Err(Errno::WOULDBLOCK);
                    }
                    Err(errno) => {
                        *lock(&self.outgoing) = Outgoing::default();
                        return Err(errno);
                    }
                }
            }
            self.unanswered.fetch_sub(weight, Ordering::Relaxed);
        }
    }
}

impl Item {
    fn answer(stream: u32, weight: u32, answer: Result<Vec<u8>, Status>) -> Self {
        let answer = answer.map(Bytes::from);
        Self {
            bytes: wire::answer_frames(SIDE.serves(), Split::CONTAINERD, stream, answer),
            weight,
        }
    }
}

// No panic leaves anything half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
