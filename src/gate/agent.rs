//! The question to the node agent: one GET on a connection of its own, from the thread that asks.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::closed::Closed;
use super::lookup::Lookup;
use crate::config::AgentUrl;

/// From the look-up of the host's name to the answer's status.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// A status and a few headers. One that keeps coming, as interim responses can without end, is read no further.
const MAX_ANSWER_BYTES: usize = 16 * 1024;

const MAX_HEADERS: usize = 100;

/// Why the node agent said nothing.
#[derive(Debug, Error)]
enum NoAnswer {
    #[error(transparent)]
    Failed(#[from] io::Error),
    #[error("its answer is not HTTP: {0}")]
    NotHttp(#[from] httparse::Error),
    #[error("it closed the connection without an answer")]
    Ended,
    #[error("its answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
}

/// The node agent.
#[derive(Debug)]
pub(super) struct Agent {
    addresses: Lookup,
    request: String,
}

impl Agent {
    pub(super) fn new(url: &AgentUrl) -> Self {
        let AgentUrl { host, port, path } = url;
        let authority = match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        Self {
            addresses: Lookup::new(host, *port),
            request: format!(
                "GET {path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n"
            ),
        }
    }

    /// Asks whether its tree is staged, for `patience` at most. Redirects are answers like any other.
    pub(super) fn staged(&self, patience: Duration) -> Result<(), Closed> {
        let limit = ANSWER_LIMIT.min(patience);
        let deadline = Deadline(Instant::now() + limit);
        match self.get(deadline) {
            Ok(200) => Ok(()),
            Ok(_) => Err(Closed::NotStaged),
            // The second is how a socket tells that its time is over.
            Err(NoAnswer::Failed(error))
                if matches!(
                    error.kind(),
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
                ) =>
            {
                let limit = limit.as_millis();
                Err(Closed::Unreachable(format!("no answer within {limit}ms")))
            }
            Err(error) => Err(Closed::Unreachable(error.to_string())),
        }
    }

    /// The status of the answer.
    fn get(&self, deadline: Deadline) -> Result<u16, NoAnswer> {
        let mut stream = connect(&self.addresses.get(deadline.left()?)?, deadline)?;
        stream.set_write_timeout(Some(deadline.left()?))?;
        stream.write_all(self.request.as_bytes())?;
        let mut answer = Vec::new();
        let mut chunk = [0; 1024];
        loop {
            if let Some(status) = status(&answer)? {
                return Ok(status);
            }
            if answer.len() >= MAX_ANSWER_BYTES {
                return Err(NoAnswer::TooLong);
            }
            stream.set_read_timeout(Some(deadline.left()?))?;
            match stream.read(&mut chunk)? {
                0 => return Err(NoAnswer::Ended),
                length => answer.extend_from_slice(&chunk[..length]),
            }
        }
    }
}

/// When the answer is no longer waited for.
#[derive(Clone, Copy)]
struct Deadline(Instant);

impl Deadline {
    /// What is left until then; never nothing, which as a socket's time would mean for ever.
    fn left(self) -> io::Result<Duration> {
        match self.0.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(io::ErrorKind::TimedOut.into()),
            left => Ok(left),
        }
    }
}

/// Connects to the first address that answers.
fn connect(addresses: &[SocketAddr], deadline: Deadline) -> io::Result<TcpStream> {
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, deadline.left()?) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The status that `answer` begins with, once its head is whole. Interim responses are passed over.
fn status(mut answer: &[u8]) -> Result<Option<u16>, httparse::Error> {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        match (response.parse(answer)?, response.code) {
            (httparse::Status::Partial, _) => return Ok(None),
            (httparse::Status::Complete(length), Some(100 | 102..=199)) => {
                answer = &answer[length..];
            }
            (httparse::Status::Complete(_), code) => return Ok(code),
        }
    }
}
