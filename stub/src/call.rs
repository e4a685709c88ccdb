//! What a handler is given, and what it gives back.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use nri_proto::api::{UpdateContainersRequest, UpdateContainersResponse, runtime};
use nri_proto::wire::{CallError, Status};
use prost::Message as _;

use crate::connection::Connection;
use crate::desk::{Claim, Desk, Turn};
use crate::reader::Reader;
use crate::runtime::Runtime;

/// The answer to a request: the payload, or why it fails. Over an error to CreateContainer the runtime refuses the
/// container.
pub type Answer = Result<Vec<u8>, Status>;

/// What a handler gives back.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The answer.
    Answer(Answer),
    /// It cannot go on while another request that hangs stands in its way. It is run again once a handler has come
    /// back that took long; at the deadline the request is answered as it is when late.
    Wait,
    /// None: the connection is closed, as if the plugin had just died.
    Leave,
}

type Late = Box<dyn FnOnce() -> Answer + Send>;

/// A request from its arrival to its answer.
pub(crate) struct Job {
    pub(crate) connection: Arc<Connection>,
    pub(crate) stream: u32,
    pub(crate) weight: u32,
    pub(crate) service: String,
    pub(crate) method: String,
    pub(crate) payload: Bytes,
    pub(crate) came: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) late: Mutex<Option<Late>>,
    /// The handler has the claim already.
    pub(crate) claim: Mutex<Option<Claim>>,
}

impl Job {
    pub(crate) fn take_claim(&self) -> Option<Claim> {
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        claim.take()
    }

    pub(crate) fn take_late(&self) -> Option<Late> {
        self.late
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// A request, as its handler sees it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub(crate) job: &'a Job,
    pub(crate) payload: &'a Bytes,
    pub(crate) turn: &'a Turn,
    pub(crate) desk: &'a Desk<Reader, Arc<Job>>,
}

impl<'a> Call<'a> {
    /// The request as it came, for a handler that decodes only what it reads. A slice of it keeps all of it.
    #[must_use]
    pub fn payload(&self) -> &'a Bytes {
        self.payload
    }

    /// What is known of the runtime that asks.
    #[must_use]
    pub fn runtime(&self) -> Arc<Runtime> {
        self.job.connection.runtime()
    }

    /// Which connection it came on, told apart from all others that are open.
    pub(crate) fn connection(&self) -> usize {
        Arc::as_ptr(&self.job.connection).addr()
    }

    /// When the request came.
    #[must_use]
    pub fn came(&self) -> Instant {
        self.job.came
    }

    /// When it is answered without its handler.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.job.deadline
    }

    /// Whether the handler's answer is still wanted: the deadline has not passed, nor has the connection ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.desk.is_open(self.turn)
    }

    /// Claims the request for the handler, and says whether that came in time: then the handler answers it, deadline or
    /// not, and may tell of that answer before it is given. Without this, returning the answer claims it.
    #[must_use]
    pub fn claim(&self) -> bool {
        let mut claim = self
            .job
            .claim
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if claim.is_none() {
            *claim = self.desk.claim(self.turn);
        }
        claim.is_some()
    }

    /// Whether the handler may do what can hang, such as reading a disk. Where many hang already there is no thread
    /// to spare: then it is to answer from what it knows, or to [`Reply::Wait`].
    #[must_use]
    pub fn may_block(&self) -> bool {
        self.turn.may_block
    }

    /// How the request is answered at its deadline. Without this it is answered with nothing, which leaves the
    /// container as it is. What `answer` holds is dropped as soon as the request is answered, by whomever; it runs on
    /// a thread that others wait for, so that it must not block.
    pub fn when_late(&self, answer: impl FnOnce() -> Answer + Send + 'static) {
        let mut late = self.job.late.lock().unwrap_or_else(PoisonError::into_inner);
        *late = Some(Box::new(answer));
    }

    /// Has the runtime update or evict containers, and waits for its answer.
    ///
    /// # Errors
    ///
    /// The runtime says why not, or the connection has ended.
    pub fn update_containers(
        &self,
        request: &UpdateContainersRequest,
    ) -> Result<UpdateContainersResponse, CallError> {
        self.desk.hurry(self.turn);
        update_containers(&self.job.connection, request)
    }
}

impl fmt::Debug for Call<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Call({} {})", self.job.method, self.job.stream)
    }
}

pub(crate) fn update_containers(
    connection: &Connection,
    request: &UpdateContainersRequest,
) -> Result<UpdateContainersResponse, CallError> {
    let (_, answer) = connection.call(runtime::UPDATE_CONTAINERS, request)?;
    let answer = answer.recv().unwrap_or(Err(CallError::Closed))?;
    Ok(UpdateContainersResponse::decode(answer)?)
}
