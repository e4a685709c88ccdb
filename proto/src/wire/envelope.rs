//! What the body of a ttRPC message holds: whom a request calls, and how a response ended.

use std::time::Duration;

use bytes::Bytes;

use super::status::{Code, Status};

/// The body of a message that asks. The metadata that ttRPC allows besides is not read: no side of NRI sends any.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Request {
    /// The service's full name.
    #[prost(string, tag = "1")]
    pub service: String,
    /// The method's name within the service.
    #[prost(string, tag = "2")]
    pub method: String,
    /// The method's argument.
    #[prost(bytes = "bytes", tag = "3")]
    pub payload: Bytes,
    /// Nanoseconds that the caller will wait; 0 where it does not say.
    #[prost(int64, tag = "4")]
    pub timeout_nano: i64,
}

impl Request {
    /// How long the caller will wait, where it says so.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        u64::try_from(self.timeout_nano)
            .ok()
            .filter(|nanos| *nanos > 0)
            .map(Duration::from_nanos)
    }
}

/// The body of a message that answers.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Response {
    /// How it went. Absent, or with code 0, it went well.
    #[prost(message, optional, tag = "1")]
    pub status: Option<ResponseStatus>,
    /// The method's result, where it went well.
    #[prost(bytes = "bytes", tag = "2")]
    pub payload: Bytes,
}

impl Response {
    /// The answer as a result.
    ///
    /// # Errors
    ///
    /// The status, where it says that the call failed.
    pub fn into_result(self) -> Result<Bytes, Status> {
        match self.status {
            Some(status) if status.code != Code::OK.0 => {
                Err(Status::new(Code(status.code), status.message))
            }
            _ => Ok(self.payload),
        }
    }
}

impl From<Result<Bytes, Status>> for Response {
    fn from(answer: Result<Bytes, Status>) -> Self {
        match answer {
            Ok(payload) => Self {
                status: None,
                payload,
            },
            Err(Status {
                code: Code(code),
                message,
            }) => Self {
                status: Some(ResponseStatus { code, message }),
                payload: Bytes::new(),
            },
        }
    }
}

/// How a call ended. The details that gRPC allows besides are not read: no side of NRI sends any.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct ResponseStatus {
    /// A number of [`Code`].
    #[prost(int32, tag = "1")]
    pub code: i32,
    /// For people.
    #[prost(string, tag = "2")]
    pub message: String,
}
