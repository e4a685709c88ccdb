//! Creating containers for a plugin, and keeping what came of them.

mod played;

use std::path::PathBuf;
use std::time::Duration;

use nri_proto::api::CreateContainerRequest;

use crate::create::name_of;
use crate::launch::Launch;
use crate::life::{Happened, Step};
use crate::process::{PluginProcess, SpawnError};
use crate::product::{Decision, Product};
use crate::runtime::{Builder, FakeRuntime, NotThere, Received, StartError, Turn, WaitTimeout};

/// How long the log of a plugin may lag behind its answer.
const LOG_LAG: Duration = Duration::from_secs(1);
/// How long the runtime may take to notice that a plugin is gone.
const RUNTIME_LAG: Duration = Duration::from_millis(200);
/// How often several processes are looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long somebody has who starts a plugin by hand.
const BY_HAND: Duration = Duration::from_secs(24 * 3600);

pub use played::{Container, Played};

/// The plugins for which containers are created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// Binaries that are started, at least one.
    Start(Vec<Launch>),
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
    NotRegistered(#[from] WaitTimeout),
    /// The plugin ended instead of registering; with its status and what it said.
    #[error("the plugin {path} ended, {exit}")]
    Ended {
        /// The plugin's binary.
        path: PathBuf,
        /// How.
        exit: String,
    },
    /// The runtime does not take the plugin.
    #[error("{plugin} was refused: {why}")]
    Refused {
        /// Who.
        plugin: String,
        /// The runtime's reason.
        why: String,
    },
}

/// A runtime and the plugin on it.
#[derive(Debug)]
pub struct Replay {
    runtime: FakeRuntime,
    processes: Vec<(PathBuf, PluginProcess)>,
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
        source: &PluginSource,
        product: &Product,
    ) -> Result<Self, ReplayError> {
        let mut processes = Vec::new();
        let runtime = match source {
            PluginSource::Start(plugins) => {
                let runtime = builder.start().await?;
                for plugin in plugins {
                    let known = product.envs.iter();
                    let plugin = known.fold(plugin.clone(), |it, (key, value)| {
                        it.default_env(key, value)
                    });
                    processes.push((plugin.path().to_owned(), plugin.start(&runtime)?));
                }
                runtime
            }
            PluginSource::Listen(socket) => {
                builder.socket(socket).patience(BY_HAND).start().await?
            }
        };
        Ok(Self {
            runtime,
            read: product.decision,
            processes,
        })
    }

    /// Waits until every plugin is registered.
    ///
    /// # Errors
    ///
    /// One is not in time, was refused, or ended instead.
    pub async fn registered(&mut self) -> Result<(), ReplayError> {
        let all = self.processes.len().max(1);
        let refused = |received: &Received| match received {
            Received::Rejected { plugin, why } => Some(ReplayError::Refused {
                plugin: plugin.clone(),
                why: why.clone(),
            }),
            _ => None,
        };
        tokio::select! {
            biased;
            registered = self.runtime.registrations(all) => Ok(registered?),
            Ok(refused) = self.runtime.received_one("a refusal", refused) => Err(refused),
            ended = ended(&mut self.processes) => {
                // The runtime's reason, where it had one, says more than how the plugin took it.
                let refused = self.runtime.received_one("a refusal", refused);
                match tokio::time::timeout(RUNTIME_LAG, refused).await {
                    Ok(Ok(refused)) => Err(refused),
                    _ => Err(ended),
                }
            }
        }
    }

    /// The plugins that did not come through it, with why and what they left on stderr. Those that are still there are
    /// ended.
    pub async fn finish(self) -> Vec<Failed> {
        let closed: Vec<_> = self
            .runtime
            .received()
            .into_iter()
            .filter_map(|received| match received {
                Received::Closed { plugin, why } => Some((plugin, why)),
                _ => None,
            })
            .collect();
        let mut failed = Vec::new();
        for (path, mut process) in self.processes {
            let patience = match closed.is_empty() {
                true => Duration::ZERO,
                false => LOG_LAG,
            };
            match tokio::time::timeout(patience, process.exited()).await {
                Ok(Ok(exit)) => failed.push(Failed {
                    plugin: path.display().to_string(),
                    why: format!("ended, {}", exit.in_short()),
                    stderr: exit.stderr,
                }),
                _ if closed.is_empty() => {}
                _ => failed.push(Failed {
                    plugin: path.display().to_string(),
                    why: "lost its connection".to_owned(),
                    stderr: process
                        .kill()
                        .await
                        .map(|exit| exit.stderr)
                        .unwrap_or_default(),
                }),
            }
        }
        if failed.is_empty() {
            let lost = closed.into_iter().map(|(plugin, why)| Failed {
                plugin,
                why: format!("lost its connection: {why}"),
                stderr: String::new(),
            });
            failed.extend(lost);
        }
        failed
    }

    /// The runtime.
    #[must_use]
    pub fn runtime(&self) -> &FakeRuntime {
        &self.runtime
    }

    /// Has something else happen to a pod or a container.
    ///
    /// # Errors
    ///
    /// There is no such pod or container.
    pub async fn turn(&mut self, step: Step) -> Result<Played, NotThere> {
        let what = step.to_string();
        let turn = match step.happen(&self.runtime).await? {
            Happened::Turn(turn) => turn,
            Happened::Created(_) => Turn::default(),
        };
        Ok(Played::Turn {
            what,
            turn: Box::new(turn),
        })
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
        let ((_, process), read) = (self.processes.first_mut()?, self.read?);
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

/// A plugin that did not come through a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Which.
    pub plugin: String,
    /// What became of it.
    pub why: String,
    /// What it left on stderr.
    pub stderr: String,
}

/// The first of the processes to end.
async fn ended(processes: &mut [(PathBuf, PluginProcess)]) -> ReplayError {
    loop {
        for (path, process) in &mut *processes {
            if let Ok(exit) = tokio::time::timeout(Duration::ZERO, process.exited()).await {
                let exit = exit.map_or_else(|error| error.to_string(), |exit| exit.to_string());
                let path = path.clone();
                return ReplayError::Ended { path, exit };
            }
        }
        tokio::time::sleep(LOOK).await;
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
