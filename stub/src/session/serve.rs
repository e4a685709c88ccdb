//! A thread that reads the connection and runs handlers.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use nri_proto::wire::{Asked, Closed, Code, Status};
use nri_proto::{api, fields};
use prost::Message as _;

use super::Session;
use crate::call::{Call, Job, Reply};
use crate::connection::Connection;
use crate::desk::{Claim, Turn};
use crate::error::Error;
use crate::life::Life;
use crate::panics::caught;
use crate::reader::{Read, Reader};
use crate::runtime::Runtime;

/// The stream id of a connection's first call, which is to be registered.
const REGISTRATION: u32 = 1;

impl Session {
    /// Connects, registers, and serves.
    pub(super) fn connect(self: Arc<Self>, epoch: u64) {
        match self.plugin.origin.connect() {
            Ok(socket) => {
                let runtime = Runtime {
                    prelaunched: self.plugin.origin.is_prelaunched(),
                    ..Runtime::default()
                };
                let connection = Connection::new(socket, runtime);
                if self.register(epoch, &connection) {
                    return self.read_on(epoch, Reader::new(connection));
                }
            }
            Err(error) => self.end(epoch, error.into()),
        }
        self.desk.thread_ends();
    }

    /// False where nobody wants the connection any more.
    fn register(&self, epoch: u64, connection: &Arc<Connection>) -> bool {
        {
            let mut progress = self.progress();
            if progress.epoch != epoch || self.desk.epoch() != epoch {
                return false;
            }
            progress.connection = Some(Arc::clone(connection));
            progress.limit = self.limit();
        }
        self.desk.notify();
        self.plugin.updater.set(connection);
        (self.plugin.observe)(Life::Registering(&self.plugin.identity));
        let request = api::RegisterPluginRequest {
            plugin_name: self.plugin.identity.name.clone(),
            plugin_idx: self.plugin.identity.index.clone(),
            ..Default::default()
        };
        // Where it cannot be written the connection has ended, which the reader will see.
        let _ = connection.call(api::runtime::REGISTER_PLUGIN, &request);
        true
    }

    /// Reads and serves, until the connection ends or another thread has the reading end.
    pub(super) fn read_on(self: Arc<Self>, epoch: u64, mut reader: Reader) {
        loop {
            match reader.next() {
                Ok(Read::Asked(asked)) => match self.serve(epoch, reader, asked) {
                    Some(back) => reader = back,
                    None => return,
                },
                Ok(Read::Answered(REGISTRATION, Ok(_))) => self.accepted(epoch),
                // The runtime that started it goes on all the same.
                Ok(Read::Answered(REGISTRATION, Err(_))) if self.plugin.origin.is_prelaunched() => {
                    self.accepted(epoch);
                }
                Ok(Read::Answered(REGISTRATION, Err(cause))) => {
                    self.end(epoch, self.refused(cause));
                    break;
                }
                Ok(Read::Answered(stream, answer)) => reader.connection.settle(stream, answer),
                Err(closed) => {
                    self.closed(epoch, closed);
                    break;
                }
            }
        }
        self.desk.thread_ends();
    }

    /// Runs a request's handler. `None` where another thread reads by now; then this one has ended.
    fn serve(&self, epoch: u64, reader: Reader, asked: Asked) -> Option<Reader> {
        let connection = Arc::clone(&reader.connection);
        if connection.is_flooded_by(asked.weight) {
            self.closed(epoch, Closed::Flooded);
            self.desk.thread_ends();
            return None;
        }
        let (stream, weight) = (asked.stream, asked.weight);
        let is_same =
            |job: &Arc<Job>| job.stream == stream && Arc::ptr_eq(&job.connection, &connection);
        let (request, refused) = match asked.request {
            Ok(_) if self.desk.any_open(is_same) => {
                (Default::default(), Some(Asked::stream_in_use(stream)))
            }
            Ok(request) => (request, None),
            Err(status) => (Default::default(), Some(status)),
        };
        let came = Instant::now();
        let budget = match request.method.as_str() {
            // An empty answer to these would be the end of the registration.
            api::plugin::CONFIGURE | api::plugin::SYNCHRONIZE => None,
            _ => self.budget(connection.runtime().request_timeout(), request.timeout()),
        };
        let job = Arc::new(Job {
            connection,
            stream,
            weight,
            service: request.service,
            method: request.method,
            payload: request.payload,
            came,
            deadline: budget.map(|budget| came + budget),
            late: Mutex::default(),
            claim: Mutex::default(),
        });
        let begun = self
            .desk
            .begin(epoch, reader, Arc::clone(&job), came, job.deadline);
        let Some(turn) = begun else {
            self.desk.thread_ends();
            return None;
        };
        match refused {
            Some(status) => self.answer(&turn, &job, Err(status)),
            None => self.handle(turn, &job),
        }
        drop(job);
        let back = self.desk.take_back(&turn);
        if back.is_none() {
            // This thread is free for those that waited for one.
            while let Some((turn, job)) = self.desk.resume() {
                self.handle(turn, &job);
            }
        }
        back
    }

    /// Runs the handler until it has an answer, or has to wait.
    fn handle(&self, mut turn: Turn, job: &Job) {
        loop {
            let reply = caught(|| self.reply(&turn, job)).unwrap_or_else(|_| {
                // The panic hook has told of it.
                let late = job.take_late().map(caught);
                Reply::Answer(late.and_then(Result::ok).unwrap_or(Ok(Vec::new())))
            });
            match reply {
                Reply::Answer(answer) => return self.answer(&turn, job, answer),
                Reply::Leave => return job.connection.close(),
                Reply::Wait => match job.take_claim() {
                    // Who has claimed it waits no more.
                    Some(claim) => return self.give(claim, job, Ok(Vec::new())),
                    None if self.desk.park(&mut turn) => return,
                    None => {}
                },
            }
        }
    }

    fn answer(&self, turn: &Turn, job: &Job, answer: Result<Vec<u8>, Status>) {
        if let Some(claim) = job.take_claim().or_else(|| self.desk.claim(turn)) {
            self.give(claim, job, answer);
        }
    }

    fn give(&self, claim: Claim, job: &Job, answer: Result<Vec<u8>, Status>) {
        drop(job.take_late());
        job.connection.answer(job.stream, job.weight, answer);
        self.desk.finish(claim);
    }

    fn reply(&self, turn: &Turn, job: &Job) -> Reply {
        let handlers = &self.plugin.handlers;
        let answer = match job.method.as_str() {
            _ if job.service != api::plugin::SERVICE => unimplemented(job),
            api::plugin::CONFIGURE => self.configure(job),
            api::plugin::SHUTDOWN => {
                (self.plugin.observe)(Life::ShuttingDown);
                Ok(Vec::new())
            }
            api::plugin::STATE_CHANGE => match handlers.state_change(&job.payload) {
                Ok(Some((method, payload))) => {
                    return self.dispatch(turn, job, method, &payload.into());
                }
                Ok(None) => Ok(Vec::new()),
                Err(status) => Err(status),
            },
            method => return self.dispatch(turn, job, method, &job.payload),
        };
        Reply::Answer(answer)
    }

    fn dispatch(&self, turn: &Turn, job: &Job, method: &str, payload: &Bytes) -> Reply {
        match self.plugin.handlers.of(method) {
            Some(handler) => handler(&Call {
                job,
                payload,
                turn,
                desk: &self.desk,
            }),
            None if method == api::plugin::SYNCHRONIZE => {
                Reply::Answer(Ok(self.give_more_back(job)))
            }
            None => Reply::Answer(unimplemented(job)),
        }
    }

    fn configure(&self, job: &Job) -> Result<Vec<u8>, Status> {
        let told = api::ConfigureRequest::decode(job.payload.clone()).unwrap_or_else(|error| {
            (self.plugin.observe)(Life::Undecodable {
                method: api::plugin::CONFIGURE,
                error: error.into(),
            });
            api::ConfigureRequest::default()
        });
        let runtime = Runtime::told(told, self.plugin.origin.is_prelaunched());
        let runtime = job.connection.configured(runtime);
        if let Some(configure) = &self.plugin.handlers.configure {
            configure(&runtime)?;
        }
        let mut progress = self.progress();
        progress.configured = true;
        if progress.accepted {
            progress.limit = None;
        }
        let answer = api::ConfigureResponse {
            events: self.plugin.handlers.mask(),
        };
        Ok(answer.encode_to_vec())
    }

    /// The answer of a plugin that does not care for what is there.
    fn give_more_back(&self, job: &Job) -> Vec<u8> {
        let more = fields::more(&job.payload).unwrap_or_else(|error| {
            (self.plugin.observe)(Life::Undecodable {
                method: api::plugin::SYNCHRONIZE,
                error,
            });
            false
        });
        let answer = api::SynchronizeResponse {
            more,
            ..Default::default()
        };
        answer.encode_to_vec()
    }

    fn accepted(&self, epoch: u64) {
        (self.plugin.observe)(Life::Accepted);
        let mut progress = self.progress();
        if progress.epoch == epoch {
            progress.accepted = true;
            let is_configured = progress.configured;
            progress.limit = self.limit().filter(|_| !is_configured);
        }
        drop(progress);
        self.desk.notify();
    }

    fn closed(&self, epoch: u64, closed: Closed) {
        let configured = self.progress().configured;
        let error = if configured {
            Error::Lost(closed)
        } else {
            Error::ClosedEarly(closed)
        };
        self.end(epoch, error);
    }

    /// Nothing more is read.
    fn end(&self, epoch: u64, error: Error) {
        let mut progress = self.progress();
        if progress.epoch == epoch && progress.ended.is_none() {
            progress.ended = Some(error);
        }
        drop(progress);
        self.desk.notify();
    }
}

fn unimplemented(job: &Job) -> Result<Vec<u8>, Status> {
    let message = format!("no method {:?} in service {:?}", job.method, job.service);
    Err(Status::new(Code::UNIMPLEMENTED, message))
}
