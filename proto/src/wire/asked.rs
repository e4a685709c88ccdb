//! What a message on the logical connection of one's own service asks.

use bytes::Bytes;
use prost::Message as _;

use super::envelope::Request;
use super::header::{MAX_BODY, MessageHeader, REQUEST};
use super::message::Message;
use super::reassembly::Event;
use super::status::{Code, Status};

/// The most bytes of requests that may be unanswered: four of the longest messages. A peer that goes beyond asks on
/// and on, or does not read the answers.
pub const MAX_UNANSWERED: u32 = 16 << 20;

/// What a request counts for at least, in bytes, so that their number is bounded too: by 1024.
const LEAST_WEIGHT: u32 = 16 << 10;

/// A request, or why what came in its place is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Which request the answer names.
    pub stream: u32,
    /// What it counts for towards [`MAX_UNANSWERED`].
    pub weight: u32,
    /// The request; an error is the answer that it gets.
    pub request: Result<Request, Status>,
}

impl Asked {
    /// What a message asks; `None` of one that is no request.
    #[must_use]
    pub fn by(event: Event) -> Option<Self> {
        let (kind, stream, body) = match event {
            Event::Message(Message {
                kind, stream, body, ..
            }) => (kind, stream, Ok(body)),
            Event::TooLarge(MessageHeader {
                kind,
                stream,
                length,
                ..
            }) => {
                let message =
                    format!("a request of {length} bytes is over the limit of {MAX_BODY}");
                let status = Status::new(Code::RESOURCE_EXHAUSTED, message);
                (kind, stream, Err(status))
            }
        };
        let length = body.as_ref().map_or(0, Bytes::len);
        (kind == REQUEST).then(|| Self {
            stream,
            weight: u32::try_from(length).unwrap_or(u32::MAX).max(LEAST_WEIGHT),
            request: body.and_then(|body| read(stream, body)),
        })
    }

    /// The answer to a request whose stream id is that of another that has no answer yet.
    #[must_use]
    pub fn stream_in_use(stream: u32) -> Status {
        invalid(format!("stream id {stream} is in use"))
    }
}

fn read(stream: u32, body: Bytes) -> Result<Request, Status> {
    if stream.is_multiple_of(2) {
        return Err(invalid(format!(
            "stream id {stream} is even: a client's are odd"
        )));
    }
    Request::decode(body).map_err(|error| invalid(format!("undecodable request: {error}")))
}

fn invalid(message: String) -> Status {
    Status::new(Code::INVALID_ARGUMENT, message)
}
