//! Answers, in both directions: what a message means to who called, and how an answer is written.

use std::time::Duration;

use bytes::Bytes;
use prost::Message as _;

use super::Side;
use super::envelope::Response;
use super::header::{MAX_BODY, MessageHeader, RESPONSE};
use super::message::Message;
use super::mux::Split;
use super::reassembly::Event;
use super::status::{Code, Status};

/// Why a call has no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CallError {
    /// The peer answered with an error.
    #[error(transparent)]
    Status(#[from] Status),
    /// The connection ended before the answer came, or had ended before the call.
    #[error("the connection closed before the answer came")]
    Closed,
    /// No answer came within the time given.
    #[error("no answer within {} ms", .0.as_millis())]
    DeadlineExceeded(Duration),
    /// The request was not sent: its body would be over [`MAX_BODY`].
    #[error("a request of {0} bytes is over the limit of {MAX_BODY}")]
    RequestTooLarge(usize),
    /// The answer was skipped: its body was over [`MAX_BODY`].
    #[error("an answer of {0} bytes is over the limit of {MAX_BODY}")]
    AnswerTooLarge(u32),
    /// The answer's envelope could not be decoded.
    #[error("undecodable answer: {0}")]
    Undecodable(#[from] prost::DecodeError),
    /// Something that is no answer came in its place. Only [`Side::Runtime`] minds.
    #[error("a message of unknown type {0} came in place of the answer")]
    NotAnAnswer(u8),
    /// Every stream id of the connection has been used.
    #[error("the connection has no stream id left")]
    NoStreamLeft,
}

/// The call that a message answers, and with what; `None` of a message that answers nothing.
#[must_use]
pub fn given(event: Event, side: Side) -> Option<(u32, Result<Bytes, CallError>)> {
    match event {
        Event::TooLarge(MessageHeader { length, stream, .. }) => {
            Some((stream, Err(CallError::AnswerTooLarge(length))))
        }
        Event::Message(Message {
            stream,
            kind: RESPONSE,
            body,
            ..
        }) => {
            let answer = Response::decode(body).map_err(CallError::from);
            let answer = answer.and_then(|response| Ok(response.into_result()?));
            Some((stream, answer))
        }
        Event::Message(Message { stream, kind, .. }) if side.minds_unknown_types() => {
            Some((stream, Err(CallError::NotAnAnswer(kind))))
        }
        Event::Message(_) => None,
    }
}

/// The frames that answer the request of `stream`. An answer over [`MAX_BODY`] becomes [`Code::RESOURCE_EXHAUSTED`].
#[must_use]
pub fn frames(connection: u32, split: Split, stream: u32, answer: Result<Bytes, Status>) -> Bytes {
    let mut response = Response::from(answer);
    let length = response.encoded_len();
    if length > MAX_BODY {
        let message = format!("an answer of {length} bytes is over the limit of {MAX_BODY}");
        response = Err(Status::new(Code::RESOURCE_EXHAUSTED, message)).into();
    }
    split.frames(connection, stream, RESPONSE, &response)
}
