//! The runtime's end, of which a test decides every step.

use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bytes::Bytes;
use nri_proto::api::{self, plugin, runtime};
use nri_proto::wire::{
    self, Asked, Demux, PLUGIN_CONNECTION, REQUEST, RUNTIME_CONNECTION, Side, Split, Status,
    envelope,
};
use nri_stub::{Error, Stop, Stub};
use prost::Message;
use tempfile::TempDir;

/// What takes longer than this does not happen.
const PATIENCE: Duration = Duration::from_secs(20);

/// A socket, and a plugin that runs.
pub(crate) struct Running {
    listener: UnixListener,
    pub(crate) stop: Stop,
    running: JoinHandle<Result<(), Error>>,
    _dir: TempDir,
}

/// Has a plugin connect.
pub(crate) fn start(stub: impl FnOnce(&Path) -> Stub) -> (Running, Peer) {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("nri.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let stub = stub(&path).socket(&path);
    let stop = Stop::by_hand();
    let stopped = stop.clone();
    let running = thread::spawn(move || stub.run(&stopped));
    let running = Running {
        listener,
        stop,
        running,
        _dir: dir,
    };
    let peer = running.accept();
    (running, peer)
}

/// The same, registered.
pub(crate) fn register(stub: Stub) -> (Running, Peer) {
    let (running, mut peer) = start(|_| stub);
    peer.register(&api::ConfigureRequest::default());
    (running, peer)
}

impl Running {
    pub(crate) fn accept(&self) -> Peer {
        Peer::new(self.listener.accept().unwrap().0)
    }

    pub(crate) fn ended(self) -> Result<(), Error> {
        self.running.join().unwrap()
    }
}

/// One connection.
pub(crate) struct Peer {
    pub(crate) socket: UnixStream,
    demux: Demux,
    unread: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(socket: UnixStream) -> Self {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            socket,
            demux: Demux::new(),
            unread: Vec::new(),
        }
    }

    /// The next message; `None` once the plugin has closed.
    fn next(&mut self) -> Option<(u32, wire::Event)> {
        loop {
            let mut input = &self.unread[..];
            let event = self.demux.feed(&mut input).unwrap();
            let left = input.len();
            self.unread.drain(..self.unread.len() - left);
            if event.is_some() {
                return event;
            }
            let mut bytes = [0; 1 << 16];
            match self.socket.read(&mut bytes).expect("it comes in time") {
                0 => return None,
                length => self.unread.extend(&bytes[..length]),
            }
        }
    }

    pub(crate) fn is_closed(&mut self) -> bool {
        self.next().is_none()
    }

    /// What the plugin calls next.
    pub(crate) fn called(&mut self) -> (u32, envelope::Request) {
        match self.next() {
            Some((RUNTIME_CONNECTION, event)) => {
                let asked = Asked::by(event).unwrap();
                (asked.stream, asked.request.unwrap())
            }
            other => panic!("no call but {other:?}"),
        }
    }

    pub(crate) fn reply(&mut self, stream: u32, answer: &impl Message) {
        let answer = Ok(answer.encode_to_vec().into());
        let frames = wire::answer_frames(RUNTIME_CONNECTION, Split::CONTAINERD, stream, answer);
        self.socket.write_all(&frames).unwrap();
    }

    pub(crate) fn ask(&mut self, stream: u32, method: &str, request: &impl Message) {
        let envelope = envelope::Request {
            service: plugin::SERVICE.into(),
            method: method.into(),
            payload: request.encode_to_vec().into(),
            timeout_nano: 0,
        };
        let frames = Split::CONTAINERD.frames(PLUGIN_CONNECTION, stream, REQUEST, &envelope);
        self.socket.write_all(&frames).unwrap();
    }

    pub(crate) fn answer(&mut self) -> (u32, Result<Bytes, Status>) {
        match self.next() {
            Some((PLUGIN_CONNECTION, event)) => {
                let (stream, answer) = wire::answer_given(event, Side::Runtime).unwrap();
                match answer {
                    Err(wire::CallError::Status(status)) => (stream, Err(status)),
                    other => (stream, Ok(other.unwrap())),
                }
            }
            other => panic!("no answer but {other:?}"),
        }
    }

    /// Asks, and takes the answer.
    pub(crate) fn call<A: Message + Default>(
        &mut self,
        stream: u32,
        method: &str,
        request: &impl Message,
    ) -> Result<A, Status> {
        self.ask(stream, method, request);
        let (answered, answer) = self.answer();
        assert_eq!(answered, stream);
        answer.map(|answer| A::decode(answer).unwrap())
    }

    /// Takes the plugin through its registration.
    pub(crate) fn register(
        &mut self,
        configure: &api::ConfigureRequest,
    ) -> (api::RegisterPluginRequest, api::ConfigureResponse) {
        let (stream, call) = self.called();
        assert_eq!(call.method, runtime::REGISTER_PLUGIN);
        self.reply(stream, &api::Empty {});
        let configured = self.call(1, plugin::CONFIGURE, configure).unwrap();
        let registration = api::RegisterPluginRequest::decode(call.payload).unwrap();
        (registration, configured)
    }
}
