//! One connection to the runtime: register on it, and answer what the runtime asks.

use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use nri_proto::api;
use nri_proto::wire::{self, CallError, Caller, Code, Incoming, Request, Side, Status};
use prost::Message;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::{Identity, Session, SessionError};
use crate::audit::{Audit, Bypassed};
use crate::config::DeviceInjectionMode;
use crate::convert;
use crate::decide::{Runtime, Staged};
use crate::panics;
use crate::signals::Stop;

/// How long the runtime is waited for, once for its answer to the registration and once for Configure.
/// Twice the 5 s that containerd gives a plugin to register, since another one that keeps silent delays all
/// others by as much.
const REGISTRATION_LIMIT: Duration = Duration::from_secs(10);

/// The same for one that started the plugin: to end before the connection does keeps containerd 1.7 from starting.
const UNLIMITED: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long the last answer may take to go out once the process is to stop.
const DRAIN_LIMIT: Duration = Duration::from_secs(1);

/// The events of which the runtime tells: CREATE_CONTAINER alone, as bit n-1 for event n. 0 would mean all
/// of them, and a bit that the runtime does not know ends the connection.
const EVENTS: i32 = 1 << (api::Event::CreateContainer as i32 - 1);

/// How a connection ended.
#[derive(Debug)]
pub(super) enum End {
    /// The process is to stop.
    Stopped,
    /// The plugin was registered, and no longer is.
    Lost(SessionError),
    /// It never was.
    NotRegistered(SessionError),
}

/// A connection's state.
pub(super) struct Connection<'a, S> {
    session: &'a Session<S>,
    /// What Configure told of the runtime: this is what being registered means.
    runtime: Option<Runtime>,
    audit: Audit,
}

impl<'a, S: Staged + Send + Sync + 'static> Connection<'a, S> {
    pub(super) fn new(session: &'a Session<S>) -> Self {
        Self {
            session,
            runtime: None,
            audit: Audit::default(),
        }
    }

    /// Registers on `stream` and serves it to its end.
    pub(super) async fn run(mut self, stream: UnixStream, stop: &mut Stop) -> End {
        let (caller, mut incoming, driver) = wire::open(stream, Side::Plugin);
        let mut driver = pin!(driver.run());
        let served = tokio::select! {
            biased;
            closed = &mut driver => Err(match self.runtime {
                Some(_) => SessionError::Lost(closed),
                None => SessionError::ClosedEarly(closed),
            }),
            served = self.serve(&caller, &mut incoming, stop) => served,
        };
        match served {
            Ok(()) => {
                // The connection closes by itself once the last answer is out.
                let _ = timeout(DRAIN_LIMIT, driver).await;
                End::Stopped
            }
            Err(error @ SessionError::Lost(_)) => End::Lost(error),
            // Also where the runtime had configured the plugin before it refused it.
            Err(error) => End::NotRegistered(error),
        }
    }

    /// Answers the runtime until the process is to stop, and what the runtime had asked by then.
    async fn serve(
        &mut self,
        caller: &Caller,
        incoming: &mut Incoming,
        stop: &mut Stop,
    ) -> Result<(), SessionError> {
        let Identity { name, index } = &self.session.identity;
        tracing::info!(name, index, "registering");
        let can_connect_anew = self.session.origin.outlives_a_connection();
        let limit = if can_connect_anew {
            REGISTRATION_LIMIT
        } else {
            UNLIMITED
        };
        // The runtime may configure the plugin before it answers the registration, so both are waited for.
        let mut registration = pin!(register(caller, &self.session.identity, limit));
        let mut accepted = false;
        let mut configured_by = pin!(sleep(limit));
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                () = stop.requested(), if !stopping => {
                    stopping = true;
                    incoming.close();
                }
                answer = &mut registration, if !accepted => {
                    accepted = true;
                    configured_by.as_mut().reset(Instant::now() + limit);
                    if let Err(cause) = answer
                        && can_connect_anew
                    {
                        return Err(SessionError::Refused {
                            index: index.clone(),
                            name: name.clone(),
                            cause,
                        });
                    }
                }
                () = &mut configured_by, if accepted && self.runtime.is_none() => {
                    return Err(SessionError::NotConfigured(limit));
                }
                request = incoming.next() => match request {
                    Some(request) => self.answer(request).await,
                    None if stopping => return Ok(()),
                    // Why the connection ended is for the caller to see, who drops this.
                    None => pending().await,
                },
            }
        }
    }

    async fn answer(&mut self, request: Request) {
        if request.service != api::plugin::SERVICE {
            return request.reply_unimplemented();
        }
        let answer = match request.method.as_str() {
            api::plugin::CONFIGURE => Ok(self.configure(&request).await),
            api::plugin::SYNCHRONIZE => Ok(self.synchronize(&request)),
            api::plugin::CREATE_CONTAINER => self.create_container(&request).await,
            api::plugin::SHUTDOWN => {
                // The runtime closes the connection next, which is what matters.
                tracing::info!("the runtime shuts down");
                Ok(Vec::new())
            }
            _ => return request.reply_unimplemented(),
        };
        request.reply(answer);
    }

    async fn configure(&mut self, request: &Request) -> Vec<u8> {
        // To answer with an error would be to go unregistered, which is worse than to know nothing of the runtime.
        let told = api::ConfigureRequest::decode(request.payload.clone()).unwrap_or_else(|error| {
            tracing::warn!(
                %error,
                "undecodable Configure, taking the runtime for a current one with default timeouts",
            );
            api::ConfigureRequest::default()
        });
        self.session.configured(told.config).await;
        let runtime = Runtime::identify(&told.runtime_name, &told.runtime_version);
        tracing::info!(
            runtime = told.runtime_name,
            version = told.runtime_version,
            nri_version = told.nri_version,
            request_timeout_ms = told.request_timeout,
            registration_timeout_ms = told.registration_timeout,
            "configured by the runtime",
        );
        let answerer = self.session.answerer.get();
        let mode = answerer.map(|answerer| answerer.config().device_injection_mode);
        if mode == Some(DeviceInjectionMode::Cdi) && !runtime.delivers_cdi {
            tracing::warn!(
                runtime = told.runtime_name,
                version = told.runtime_version,
                "the runtime drops CDI devices from an adjustment, raw device nodes are used instead",
            );
        }
        self.runtime = Some(runtime);
        let request_timeout_ms = u64::try_from(told.request_timeout).unwrap_or(0);
        let registrations = self.session.health.registered(request_timeout_ms);
        if registrations > 1 {
            tracing::info!(registrations, "registered again");
        }
        let answer = api::ConfigureResponse { events: EVENTS };
        answer.encode_to_vec()
    }

    fn synchronize(&mut self, request: &Request) -> Vec<u8> {
        let more = convert::more(&request.payload).unwrap_or_else(|error| {
            // The audit is lost, and the registration need not be.
            tracing::warn!(
                %error,
                "undecodable Synchronize, running containers are not looked at for a missing overlay",
            );
            false
        });
        let audit = &mut self.audit;
        let audited = panics::caught(|| {
            let config = self.session.answerer.get()?.config();
            audit.add(config, &request.payload);
            (!more).then(|| audit.finish(config))
        });
        // A panic is logged by then, and an audit that failed is no reason to be dropped by the runtime.
        if let Ok(Some(Bypassed { count, names })) = audited {
            self.session
                .metrics
                .bypassed_containers
                .set(i64::try_from(count).unwrap_or(i64::MAX));
            if count > 0 {
                tracing::warn!(
                    count,
                    first = names.join(", "),
                    "running containers came up without the overlay while the plugin was away",
                );
            }
        }
        let answer = api::SynchronizeResponse {
            more,
            ..Default::default()
        };
        answer.encode_to_vec()
    }

    async fn create_container(&self, request: &Request) -> Result<Vec<u8>, Status> {
        let Some(answerer) = self.session.answerer.get() else {
            return Ok(convert::answer(None));
        };
        let told = self.session.health.request_timeout();
        let patience = request.timeout.map_or(told, |timeout| timeout.min(told));
        // A runtime that has not said what it is gets what the current ones do.
        let runtime = self.runtime.unwrap_or(Runtime { delivers_cdi: true });
        answerer
            .create_container(&request.payload, patience, runtime)
            .await
            .map_err(|refusal| Status::new(Code::UNKNOWN, refusal.to_string()))
    }
}

async fn register(caller: &Caller, identity: &Identity, limit: Duration) -> Result<(), CallError> {
    let Identity { name, index } = identity.clone();
    let request = api::RegisterPluginRequest {
        plugin_name: name,
        plugin_idx: index,
        ..Default::default()
    };
    caller
        .call_within(
            limit,
            api::runtime::SERVICE,
            api::runtime::REGISTER_PLUGIN,
            request.encode_to_vec(),
        )
        .await
        .map(drop)
}
