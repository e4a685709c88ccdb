//! The runtime's side of one plugin's connection, in blocking code.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bytes::Bytes;
use nri_proto::api::{self, plugin, runtime};
use nri_proto::wire::{
    FrameHeader, MessageHeader, PLUGIN_CONNECTION, READ_BUFFER, REQUEST, RUNTIME_CONNECTION, Split,
    answer_frames, envelope,
};
use prost::Message;

use crate::profile::{Profile, REGISTRATION_TIMEOUT_MS, REQUEST_TIMEOUT_MS};

/// What takes longer than this is no answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a frame's message begins, and in that its stream id.
const STREAM: usize = FrameHeader::LEN + 4;

/// A request whose frames are made once.
pub(super) struct Request {
    frames: Vec<u8>,
    /// Where each write ends: containerd writes the header of a frame by itself.
    writes: Vec<usize>,
}

impl Request {
    pub(super) fn new(method: &str, payload: &[u8]) -> Self {
        let envelope = envelope::Request {
            service: plugin::SERVICE.to_owned(),
            method: method.to_owned(),
            payload: Bytes::copy_from_slice(payload),
            timeout_nano: REQUEST_TIMEOUT_MS * 1_000_000,
        };
        let frames = Split::CONTAINERD.frames(PLUGIN_CONNECTION, 0, REQUEST, &envelope);
        let mut writes = Vec::new();
        let mut at = 0;
        while let Some(header) = header_at(&frames, at) {
            writes.push(at + FrameHeader::LEN);
            at += FrameHeader::LEN + header.length as usize;
            writes.push(at);
        }
        Self {
            frames: frames.into(),
            writes,
        }
    }
}

/// Gives the message that `frames` carry another stream id.
pub(super) fn set_stream(frames: &mut [u8], stream: u32) {
    frames[STREAM..STREAM + 4].copy_from_slice(&stream.to_be_bytes());
}

/// A connection with the plugin at its other end.
#[derive(Debug)]
pub(super) struct Connection {
    stream: UnixStream,
    next: u32,
    reading: Reading,
}

impl Connection {
    pub(super) fn new(stream: UnixStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            next: 1,
            reading: Reading::default(),
        })
    }

    /// Everything up to the first container: RegisterPlugin, Configure, and Synchronize of a node without any.
    pub(super) fn register(&mut self, profile: &Profile) -> io::Result<()> {
        let header = self.reading.message(&mut self.stream)?;
        let request = envelope::Request::decode(&*self.reading.body())?;
        if request.method != runtime::REGISTER_PLUGIN {
            return Err(invalid(format!("it called {}", request.method)));
        }
        let accepted = Ok(Bytes::new());
        let accepted = answer_frames(
            RUNTIME_CONNECTION,
            Split::CONTAINERD,
            header.stream,
            accepted,
        );
        self.stream.write_all(&accepted)?;
        let configure = api::ConfigureRequest {
            runtime_name: profile.runtime.to_owned(),
            runtime_version: profile.runtime_version.to_owned(),
            registration_timeout: REGISTRATION_TIMEOUT_MS,
            request_timeout: REQUEST_TIMEOUT_MS,
            ..Default::default()
        };
        self.call(plugin::CONFIGURE, &configure)?;
        self.call(plugin::SYNCHRONIZE, &api::SynchronizeRequest::default())
    }

    fn call(&mut self, method: &str, request: &impl Message) -> io::Result<()> {
        let mut request = Request::new(method, &request.encode_to_vec());
        self.ask(&mut request)?;
        self.answer().map(drop)
    }

    /// Makes a request, waits for the answer, and gives the time between.
    pub(super) fn ask(&mut self, request: &mut Request) -> io::Result<Duration> {
        set_stream(&mut request.frames, self.next);
        // A client's ids are odd and rise.
        self.next = self.next.wrapping_add(2);
        let begun = Instant::now();
        let mut from = 0;
        for end in &request.writes {
            self.stream.write_all(&request.frames[from..*end])?;
            from = *end;
        }
        self.reading.message(&mut self.stream)?;
        Ok(begun.elapsed())
    }

    /// The payload of the last answer, if it is no error.
    pub(super) fn answer(&self) -> io::Result<Bytes> {
        let answer = envelope::Response::decode(&*self.reading.body())?.into_result();
        answer.map_err(|status| io::Error::other(status.to_string()))
    }
}

/// What is read, one message at a time.
#[derive(Debug)]
pub(super) struct Reading {
    buffer: Vec<u8>,
    /// As far as the message last read reaches.
    message: usize,
    /// As far as there are bytes.
    filled: usize,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            buffer: vec![0; READ_BUFFER],
            message: 0,
            filled: 0,
        }
    }
}

impl Reading {
    /// Reads the next message to its end.
    pub(super) fn message(&mut self, stream: &mut UnixStream) -> io::Result<MessageHeader> {
        self.buffer.copy_within(self.message..self.filled, 0);
        self.filled -= self.message;
        self.message = 0;
        loop {
            if let Some((header, end)) = first_message(&self.buffer[..self.filled]) {
                self.message = end;
                return Ok(header);
            }
            if self.filled == self.buffer.len() {
                self.buffer.resize(2 * self.filled, 0);
            }
            match stream.read(&mut self.buffer[self.filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The body of the message last read.
    fn body(&self) -> Vec<u8> {
        let mut message = Vec::new();
        let mut frames = &self.buffer[..self.message];
        while let Some(header) = header_at(frames, 0) {
            let end = FrameHeader::LEN + header.length as usize;
            message.extend(&frames[FrameHeader::LEN..end]);
            frames = &frames[end..];
        }
        message.split_off(MessageHeader::LEN.min(message.len()))
    }
}

/// The first message in the frames and where it ends, if all of it is there.
fn first_message(frames: &[u8]) -> Option<(MessageHeader, usize)> {
    let header = frames.get(FrameHeader::LEN..)?.first_chunk()?;
    let header = MessageHeader::decode(*header);
    let wanted = MessageHeader::LEN + header.length as usize;
    let (mut at, mut carried) = (0, 0);
    while carried < wanted {
        let frame = header_at(frames, at)?;
        at += FrameHeader::LEN + frame.length as usize;
        carried += frame.length as usize;
    }
    (at <= frames.len()).then_some((header, at))
}

fn header_at(frames: &[u8], at: usize) -> Option<FrameHeader> {
    let header = frames.get(at..)?.first_chunk()?;
    Some(FrameHeader::decode(*header))
}

fn invalid(reason: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_ends_with_its_last_frame_whatever_follows() {
        let mut frames = Request::new("Any", &[7; 10_000]).frames;
        let whole = frames.len();
        frames.push(0);
        let end = |frames: &[u8]| first_message(frames).map(|(_, end)| end);
        assert_eq!(end(&frames), Some(whole));
        for length in [0, 7, 8, 17, 18, 4104, 4111, 4112, whole - 1] {
            assert_eq!(end(&frames[..length]), None, "{length}");
        }
    }

    #[test]
    fn each_frame_is_two_writes_as_containerds_are() {
        let request = Request::new("Any", &[7; 10_000]);
        let whole = request.frames.len();
        assert_eq!(request.writes, [8, 4104, 4112, whole]);
    }
}
