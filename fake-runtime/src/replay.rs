//! Creating containers for a plugin, and keeping what came of them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use nri_proto::api::CreateContainerRequest;

use crate::create::name_of;
use crate::process::{PluginCommand, PluginProcess, SpawnError};
use crate::product::{Decision, Product};
use crate::runtime::{Builder, Created, FakeRuntime, Refused, StartError, WaitedInVain};

/// How long the log of a plugin may lag behind its answer.
const LOG_LAG: Duration = Duration::from_secs(1);
/// How long somebody has who starts a plugin by hand.
const BY_HAND: Duration = Duration::from_secs(24 * 3600);

/// The plugin for which containers are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// A binary that is started.
    Start {
        /// The binary.
        path: PathBuf,
        /// Its arguments, as [`PluginCommand::on_socket`] takes them.
        args: Vec<OsString>,
    },
    /// Whoever connects to this socket.
    Listen(PathBuf),
}

/// Why nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The runtime cannot start.
    #[error(transparent)]
    Runtime(#[from] StartError),
    /// The plugin cannot be started.
    #[error(transparent)]
    Plugin(#[from] SpawnError),
    /// The plugin did not register.
    #[error(transparent)]
    NotRegistered(#[from] WaitedInVain),
    /// The plugin ended instead of registering; with its status and what it said.
    #[error("the plugin ended, {0}")]
    Ended(String),
}

/// A container, and what became of it.
#[derive(Clone, Debug)]
pub struct Container {
    /// `namespace/pod/container`.
    pub name: String,
    /// The container, or why there is none.
    pub created: Result<Created, Refused>,
    /// What the plugin's log said, where that is known to be read.
    pub decision: Option<Decision>,
}

/// A runtime and the plugin on it.
#[derive(Debug)]
pub struct Replay {
    runtime: FakeRuntime,
    process: Option<PluginProcess>,
    /// How its log is read. A plugin that told nothing of the first container is another than this knows.
    read: Option<fn(&str) -> Option<Decision>>,
}

impl Replay {
    /// Starts the runtime, and the plugin if it is one to start.
    ///
    /// # Errors
    ///
    /// Either cannot be started.
    pub async fn start(
        builder: Builder,
        whom: &Whom,
        product: &Product,
    ) -> Result<Self, ReplayError> {
        let (runtime, process) = match whom {
            Whom::Start { path, args } => {
                let runtime = builder.start().await?;
                let command = PluginCommand::on_socket(path, args, runtime.socket_path())
                    .envs(product.envs.iter().copied());
                (runtime, Some(command.spawn()?))
            }
            Whom::Listen(socket) => (
                builder.socket(socket).patience(BY_HAND).start().await?,
                None,
            ),
        };
        Ok(Self {
            runtime,
            read: product.decision,
            process,
        })
    }

    /// Waits until the plugin is registered.
    ///
    /// # Errors
    ///
    /// It is not in time, or ended instead.
    pub async fn registered(&mut self) -> Result<(), ReplayError> {
        let ended = async {
            match &mut self.process {
                Some(process) => process.exited().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            registered = self.runtime.plugin_registered() => Ok(registered.map(drop)?),
            exit = ended => Err(ReplayError::Ended(match exit {
                Ok(exit) => exit.to_string(),
                Err(error) => error.to_string(),
            })),
        }
    }

    /// The runtime.
    #[must_use]
    pub fn runtime(&self) -> &FakeRuntime {
        &self.runtime
    }

    /// Creates a container.
    pub async fn create(&mut self, request: CreateContainerRequest) -> Container {
        let container = Named::of(&request);
        let created = self
            .runtime
            .create_container(request.pod, request.container)
            .await;
        let decision = self.decision(|told| container.is_in(told)).await;
        Container {
            name: container.name,
            created,
            decision,
        }
    }

    /// Creates two containers at the same time, which containerd never does.
    pub async fn create_two_at_once(
        &mut self,
        requests: [CreateContainerRequest; 2],
    ) -> [Container; 2] {
        let named = [Named::of(&requests[0]), Named::of(&requests[1])];
        let created = self.runtime.create_two_at_once(requests).await;
        // The log tells of them in either order.
        let any = |told: &Decision| named.iter().any(|named| named.is_in(told));
        let mut decisions = vec![self.decision(any).await, self.decision(any).await];
        let mut created = created.into_iter();
        named.clone().map(|named| {
            let told = decisions
                .iter()
                .position(|it| it.as_ref().is_some_and(|it| named.is_in(it)));
            Container {
                name: named.name,
                created: created.next().expect("two were created"),
                decision: told.and_then(|at| decisions.swap_remove(at)),
            }
        })
    }

    /// The next decision that the log tells of and that is the `wanted` one.
    async fn decision(&mut self, wanted: impl Fn(&Decision) -> bool) -> Option<Decision> {
        let (process, read) = (self.process.as_mut()?, self.read?);
        let decision = loop {
            match process.next_in_log(LOG_LAG, read).await {
                // Of a container that nobody waits for: faults ask about some.
                Some(other) if !wanted(&other) => {}
                decision => break decision,
            }
        };
        self.read = decision.as_ref().map(|_| read);
        decision
    }
}

/// A container by the names that a log has.
#[derive(Clone)]
struct Named {
    name: String,
    namespace: String,
    pod: String,
    container: String,
}

impl Named {
    fn of(request: &CreateContainerRequest) -> Self {
        let pod = request.pod.clone().unwrap_or_default();
        Self {
            name: name_of(request),
            namespace: pod.namespace,
            pod: pod.name,
            container: request.container.clone().unwrap_or_default().name,
        }
    }

    fn is_in(&self, told: &Decision) -> bool {
        (&self.namespace, &self.pod, &self.container)
            == (&told.namespace, &told.pod, &told.container)
    }
}
