//! A plugin, put together.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use nri_proto::api::{self, ContainerUpdate, Event};
use nri_proto::wire::Status;
use prost::Message as _;

use crate::call::{Call, Reply};
use crate::connect::{ConnectError, Identity, Origin, place};
use crate::error::Error;
use crate::handlers::{Handlers, decode, typed};
use crate::life::Life;
use crate::limits::Limits;
use crate::plugin::Plugin;
use crate::runtime::Runtime;
use crate::session::Session;
use crate::stop::Stop;
use crate::updater::Updater;

/// An NRI plugin: an identity, and a handler for each event that it wants to be told of.
///
/// Handlers run one after the other, and beside each other where one takes long.
pub struct Stub(Plugin);

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident: $event:ident($request:ident) -> $answer:ident;)*) => {
        /// Handlers of decoded requests.
        impl Stub {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(
                    self,
                    handler: impl Fn(api::$request, &Call<'_>) -> Result<api::$answer, Status>
                        + Send
                        + Sync
                        + 'static,
                ) -> Self {
                    self.with(Event::$event, typed(handler))
                }
            )*
        }
    };
}

events! {
    /// A pod is about to run.
    run_pod_sandbox: RunPodSandbox(RunPodSandboxRequest) -> RunPodSandboxResponse;
    /// A pod's resources are about to change.
    update_pod_sandbox: UpdatePodSandbox(UpdatePodSandboxRequest) -> UpdatePodSandboxResponse;
    /// A pod's resources have changed.
    post_update_pod_sandbox: PostUpdatePodSandbox(PostUpdatePodSandboxRequest) -> PostUpdatePodSandboxResponse;
    /// A pod is being stopped.
    stop_pod_sandbox: StopPodSandbox(StopPodSandboxRequest) -> StopPodSandboxResponse;
    /// A pod is being removed.
    remove_pod_sandbox: RemovePodSandbox(RemovePodSandboxRequest) -> RemovePodSandboxResponse;
    /// A container is about to be created: the one event by which it can be adjusted. Over an error the runtime
    /// refuses the container.
    create_container: CreateContainer(CreateContainerRequest) -> CreateContainerResponse;
    /// A container has been created.
    post_create_container: PostCreateContainer(PostCreateContainerRequest) -> PostCreateContainerResponse;
    /// A container is about to be started.
    start_container: StartContainer(StartContainerRequest) -> StartContainerResponse;
    /// A container has been started.
    post_start_container: PostStartContainer(PostStartContainerRequest) -> PostStartContainerResponse;
    /// A container's resources are about to change.
    update_container: UpdateContainer(UpdateContainerRequest) -> UpdateContainerResponse;
    /// A container's resources have changed.
    post_update_container: PostUpdateContainer(PostUpdateContainerRequest) -> PostUpdateContainerResponse;
    /// A container is being stopped.
    stop_container: StopContainer(StopContainerRequest) -> StopContainerResponse;
    /// A container is being removed.
    remove_container: RemoveContainer(RemoveContainerRequest) -> RemoveContainerResponse;
    /// Every plugin has been asked about a container: whether what came of it may be. From NRI 0.10 on; an older
    /// runtime closes the connection to a plugin that subscribes to it.
    validate_container_adjustment: ValidateContainerAdjustment(ValidateContainerAdjustmentRequest)
        -> ValidateContainerAdjustmentResponse;
}

impl Stub {
    /// A plugin of this name and index (two digits, the order among the runtime's plugins), at the socket where
    /// runtimes listen.
    pub fn new(name: impl Into<String>, index: impl Into<String>) -> Self {
        Self(Plugin {
            origin: Origin::Socket("/var/run/nri/nri.sock".into()),
            identity: Identity {
                name: name.into(),
                index: index.into(),
            },
            handlers: Handlers::default(),
            limits: Limits::default(),
            observe: Box::new(|_| {}),
            once: false,
            updater: Updater::default(),
        })
    }

    /// Connects to the socket at `path`.
    #[must_use]
    pub fn socket(self, path: impl Into<PathBuf>) -> Self {
        self.origin(Origin::Socket(path.into()))
    }

    /// Connects here.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.0.origin = origin;
        self
    }

    /// Does as the runtime says that started the plugin, if one did: takes the connection that it passed on, and the
    /// name and index that it gave. `variable` looks up the environment.
    ///
    /// # Errors
    ///
    /// The runtime's variable names no descriptor.
    pub fn place(
        mut self,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, ConnectError> {
        if let Origin::Socket(socket) = &self.0.origin {
            let given = self.0.identity.clone();
            (self.0.origin, self.0.identity) = place(variable, socket.clone(), given)?;
        }
        Ok(self)
    }

    /// Waits by other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.0.limits = limits;
        self
    }

    /// Ends with its first connection, instead of connecting again.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.0.once = true;
        self
    }

    /// Tells of what happens.
    #[must_use]
    pub fn observe(mut self, observe: impl Fn(Life<'_>) + Send + Sync + 'static) -> Self {
        self.0.observe = Box::new(observe);
        self
    }

    /// The runtime has accepted the plugin and tells of itself, before anything else. Over an error it drops the
    /// plugin. Comes once for each connection.
    #[must_use]
    pub fn configure(
        mut self,
        handler: impl Fn(&Runtime) -> Result<(), Status> + Send + Sync + 'static,
    ) -> Self {
        self.0.handlers.configure = Some(Box::new(handler));
        self
    }

    /// The pods and containers that are there when the plugin registers. The answer is what is to change about them.
    #[must_use]
    pub fn synchronize(
        mut self,
        handler: impl Fn(
            Vec<api::PodSandbox>,
            Vec<api::Container>,
        ) -> Result<Vec<ContainerUpdate>, Status>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let parts = Mutex::new((0, api::SynchronizeRequest::default()));
        self.0.handlers.synchronize = Some(Box::new(move |call| {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            let (connection, list) = &mut *parts;
            // What an earlier connection left unfinished is no part of this list.
            if std::mem::replace(connection, call.connection()) != call.connection() {
                *list = api::SynchronizeRequest::default();
            }
            let answer = decode(call.payload()).and_then(|part: api::SynchronizeRequest| {
                list.pods.extend(part.pods);
                list.containers.extend(part.containers);
                let update = if part.more {
                    Vec::new()
                } else {
                    let list = std::mem::take(list);
                    handler(list.pods, list.containers)?
                };
                let answer = api::SynchronizeResponse {
                    update,
                    more: part.more,
                };
                Ok(answer.encode_to_vec())
            });
            Reply::Answer(answer)
        }));
        self
    }

    /// The same with each part of the list as it came, encoded. The answer has to give the request's `more` back.
    #[must_use]
    pub fn synchronize_raw(
        mut self,
        handler: impl Fn(&Call<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.0.handlers.synchronize = Some(Box::new(handler));
        self
    }

    /// Any event, with the request as it came and the answer as it goes: a [`Reply::Answer`] holds the encoded response
    /// of the event's method.
    #[must_use]
    pub fn raw(
        self,
        event: Event,
        handler: impl Fn(&Call<'_>) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.with(event, Box::new(handler))
    }

    /// Subscribes to these events besides those that have handlers: event n is bit n-1.
    #[must_use]
    pub fn subscribe(mut self, events: i32) -> Self {
        self.0.handlers.extra_events |= events;
        self
    }

    /// By which the runtime can be called at any time, also from outside of a handler.
    #[must_use]
    pub fn updater(&self) -> Updater {
        self.0.updater.clone()
    }

    /// Serves the runtime until `stop`, or until SIGTERM or SIGINT with [`Stop::on_signals`]. A connection that is lost
    /// after the plugin was registered is made again, for as long as the process lives.
    ///
    /// # Errors
    ///
    /// The first registration does not come about, or the runtime started the plugin and its connection is lost.
    pub fn run(self, stop: &Stop) -> Result<(), Error> {
        Session::new(self.0).run(stop)
    }

    fn with(
        mut self,
        event: Event,
        handler: Box<dyn Fn(&Call<'_>) -> Reply + Send + Sync>,
    ) -> Self {
        self.0.handlers.on(event, handler);
        self
    }
}

impl fmt::Debug for Stub {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Identity { name, index } = &self.0.identity;
        write!(out, "Stub({index}-{name})")
    }
}
