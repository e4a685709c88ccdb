//! A small NRI plugin that answers as it is told: for tests of a runtime, and as a pattern for a plugin of one's own.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use nri_proto::api::{
    ConfigureRequest, ConfigureResponse, ContainerAdjustment, CreateContainerRequest,
    CreateContainerResponse, RegisterPluginRequest, SynchronizeRequest, SynchronizeResponse,
    ValidateContainerAdjustmentRequest, ValidateContainerAdjustmentResponse, plugin, runtime,
};
use nri_proto::wire::{self, CallError, Code, Incoming, Request, Side, Status};
use prost::Message as _;
use tokio::net::UnixStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const CREATE_CONTAINER: i32 = 1 << 3;
const VALIDATE_CONTAINER_ADJUSTMENT: i32 = 1 << 13;

/// What a scripted plugin does when it is asked about a container.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Adjusts it; an empty adjustment is none.
    Adjust(Box<ContainerAdjustment>),
    /// Answers with an error.
    Error(Status),
    /// Closes the connection instead of answering.
    Leave,
}

type Judge = Box<dyn FnMut(ValidateContainerAdjustmentRequest) -> Result<(), String> + Send>;
type Observer = Box<dyn FnMut(&str, &[u8]) + Send>;
type Subscription = Box<dyn FnMut(&ConfigureRequest) -> i32 + Send>;
type Others = Box<dyn FnMut(&str, &[u8]) -> Option<Vec<u8>> + Send>;

/// A plugin before it connects.
pub struct ScriptedPlugin {
    index: String,
    name: String,
    events: i32,
    subscription: Option<Subscription>,
    delay: Duration,
    others: Others,
    reply: Box<dyn FnMut(CreateContainerRequest) -> Reply + Send>,
    judge: Option<Judge>,
    observe: Observer,
}

/// A connected plugin. Dropping it closes the connection.
#[derive(Debug)]
pub struct ScriptedConnection {
    serving: JoinHandle<()>,
    leaving: Arc<Notify>,
}

/// A plugin cannot register.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody listens.
    #[error("cannot connect to the runtime: {0}")]
    Connect(#[from] io::Error),
    /// The runtime does not take it.
    #[error("the runtime refused the registration: {0}")]
    Register(#[from] CallError),
}

impl ScriptedPlugin {
    /// A plugin that subscribes to CreateContainer and adjusts nothing.
    pub fn new(index: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            index: index.into(),
            name: name.into(),
            events: CREATE_CONTAINER,
            subscription: None,
            delay: Duration::ZERO,
            others: Box::new(|_, _| None),
            reply: Box::new(|_| Reply::Adjust(Box::default())),
            judge: None,
            observe: Box::new(|_, _| {}),
        }
    }

    /// Subscribes to other events: event n is bit n-1, 0 is every event.
    #[must_use]
    pub fn events(self, events: i32) -> Self {
        Self { events, ..self }
    }

    /// Subscribes to what this makes of the runtime that configures it.
    #[must_use]
    pub fn subscribe(
        self,
        subscription: impl FnMut(&ConfigureRequest) -> i32 + Send + 'static,
    ) -> Self {
        Self {
            subscription: Some(Box::new(subscription)),
            ..self
        }
    }

    /// Answers any other call with this, given the method's name and the payload; where that is none, it says that it
    /// has no such method.
    #[must_use]
    pub fn others(
        self,
        others: impl FnMut(&str, &[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self {
            others: Box::new(others),
            ..self
        }
    }

    /// Takes this long over every container.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Does this when it is asked about a container.
    #[must_use]
    pub fn reply(
        self,
        reply: impl FnMut(CreateContainerRequest) -> Reply + Send + 'static,
    ) -> Self {
        Self {
            reply: Box::new(reply),
            ..self
        }
    }

    /// Subscribes to judging what came of each container too. An error is why it is rejected.
    #[must_use]
    pub fn judge(
        self,
        judge: impl FnMut(ValidateContainerAdjustmentRequest) -> Result<(), String> + Send + 'static,
    ) -> Self {
        Self {
            events: self.events | VALIDATE_CONTAINER_ADJUSTMENT,
            judge: Some(Box::new(judge)),
            ..self
        }
    }

    /// Is told of every request before it is answered: the method's name and the payload.
    #[must_use]
    pub fn observe(self, observe: impl FnMut(&str, &[u8]) + Send + 'static) -> Self {
        Self {
            observe: Box::new(observe),
            ..self
        }
    }

    /// Connects and registers. Returns as soon as the runtime has accepted the registration.
    ///
    /// # Errors
    ///
    /// Nobody listens at `socket`, or the runtime refuses the name or the index.
    pub async fn connect(self, socket: &Path) -> Result<ScriptedConnection, ConnectError> {
        let stream = UnixStream::connect(socket).await?;
        let (caller, incoming, driver) = wire::open(stream, Side::Plugin);
        let register = RegisterPluginRequest {
            plugin_name: self.name.clone(),
            plugin_idx: self.index.clone(),
            ..Default::default()
        };
        // The runtime may ask before it answers the registration, so that serving starts first.
        let leaving = Arc::new(Notify::new());
        let serving = tokio::spawn({
            let leaving = leaving.clone();
            async move {
                let mut driver = pin!(driver.run());
                let abruptly = tokio::select! {
                    _ = &mut driver => return,
                    abruptly = self.serve(incoming, &leaving) => abruptly,
                };
                if !abruptly {
                    // Until the last answers are written.
                    driver.await;
                }
            }
        });
        let connection = ScriptedConnection { serving, leaving };
        caller
            .call(
                runtime::SERVICE,
                runtime::REGISTER_PLUGIN,
                register.encode_to_vec(),
            )
            .await?;
        Ok(connection)
    }

    /// Answers until it is to leave, and says whether abruptly.
    async fn serve(mut self, mut incoming: Incoming, leaving: &Notify) -> bool {
        loop {
            let request = tokio::select! {
                request = incoming.next() => request,
                () = leaving.notified() => {
                    incoming.close();
                    continue;
                }
            };
            let Some(request) = request else { return false };
            (self.observe)(&request.method, &request.payload);
            match request.method.as_str() {
                plugin::CONFIGURE => {
                    let answer = decode::<ConfigureRequest>(&request).map(|configure| {
                        let subscription = self.subscription.as_mut();
                        let events = subscription.map_or(self.events, |it| it(&configure));
                        ConfigureResponse { events }.encode_to_vec()
                    });
                    request.reply(answer);
                }
                plugin::SYNCHRONIZE => {
                    let answer = decode::<SynchronizeRequest>(&request).map(|synchronize| {
                        let answer = SynchronizeResponse {
                            more: synchronize.more,
                            update: Vec::new(),
                        };
                        answer.encode_to_vec()
                    });
                    request.reply(answer);
                }
                plugin::CREATE_CONTAINER => {
                    // Even no time at all is slept until the timer's next tick, 1 ms later.
                    if !self.delay.is_zero() {
                        tokio::time::sleep(self.delay).await;
                    }
                    match decode(&request).map(&mut self.reply) {
                        Ok(Reply::Adjust(adjust)) => {
                            let answer = CreateContainerResponse {
                                adjust: Some(*adjust),
                                ..Default::default()
                            };
                            request.reply(Ok(answer.encode_to_vec()));
                        }
                        Ok(Reply::Error(status)) | Err(status) => request.reply(Err(status)),
                        // Nothing is written any more, not even that the request was dropped.
                        Ok(Reply::Leave) => return true,
                    }
                }
                plugin::VALIDATE_CONTAINER_ADJUSTMENT => match &mut self.judge {
                    Some(judge) => {
                        let verdict = decode(&request).map(judge);
                        request.reply(verdict.map(|verdict| {
                            ValidateContainerAdjustmentResponse {
                                reject: verdict.is_err(),
                                reason: verdict.err().unwrap_or_default(),
                            }
                            .encode_to_vec()
                        }));
                    }
                    None => request.reply_unimplemented(),
                },
                method => match (self.others)(method, &request.payload) {
                    Some(answer) => request.reply(Ok(answer)),
                    None => request.reply_unimplemented(),
                },
            }
        }
    }
}

impl ScriptedConnection {
    /// Answers what was asked until now, and closes the connection.
    pub async fn leave(self) {
        self.leaving.notify_one();
        self.closed().await;
    }

    /// Resolves when the runtime has closed the connection.
    pub async fn closed(mut self) {
        // The error says that the plugin's script panicked, which ends the connection too.
        let _ = (&mut self.serving).await;
    }
}

impl Drop for ScriptedConnection {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl fmt::Debug for ScriptedPlugin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ScriptedPlugin({}-{})", self.index, self.name)
    }
}

fn decode<T: prost::Message + Default>(request: &Request) -> Result<T, Status> {
    T::decode(request.payload.clone())
        .map_err(|error| Status::new(Code::INVALID_ARGUMENT, error.to_string()))
}
