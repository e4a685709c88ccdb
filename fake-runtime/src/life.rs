//! The turns of a pod's life as data: read from a recording, and played by a runtime.

use nri_proto::api::{
    CreateContainerRequest, Event, LinuxResources, PodSandbox, RemovePodSandboxRequest,
    RunPodSandboxRequest, StartContainerRequest, StateChangeEvent, StopContainerRequest,
    UpdateContainerRequest, UpdatePodSandboxRequest, plugin,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::runtime::{Created, FakeRuntime, NotThere, Refused, Turn};

/// One thing that happens to a pod or to a container of it, by their ids.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A pod is run.
    RunPod(Box<PodSandbox>),
    /// A pod's resources change.
    UpdatePod {
        /// Which.
        pod: String,
        /// What its sandbox takes.
        overhead: Box<LinuxResources>,
        /// What its containers take together.
        resources: Box<LinuxResources>,
    },
    /// A pod is stopped.
    StopPod(String),
    /// A pod is removed.
    RemovePod(String),
    /// A container is created.
    Create(Box<CreateContainerRequest>),
    /// A container is started.
    Start(String),
    /// A container's resources change.
    Update {
        /// Which.
        container: String,
        /// To what.
        resources: Box<LinuxResources>,
    },
    /// A container ends, by itself or because it is stopped.
    Exit(String),
    /// A container is removed.
    Remove(String),
}

/// What came of a step.
#[derive(Debug)]
pub enum Happened {
    /// A container was created, or refused.
    Created(Box<Result<Created, Refused>>),
    /// Plugins were told of something else.
    Turn(Turn),
}

impl Step {
    /// What happened when a runtime made the call in this row of a recording; `None` where nothing did of its own:
    /// what follows upon a step, and what is no pod's life.
    ///
    /// # Errors
    ///
    /// The request is none of its call.
    pub fn of_row(row: &Value) -> Result<Option<Self>, serde_json::Error> {
        let request = &row["request"];
        let id = |of: &str| request[of]["id"].as_str().unwrap_or_default().to_owned();
        Ok(Some(match row["rpc"].as_str().unwrap_or_default() {
            plugin::RUN_POD_SANDBOX => {
                let RunPodSandboxRequest { pod } = RunPodSandboxRequest::deserialize(request)?;
                Self::RunPod(Box::new(pod.unwrap_or_default()))
            }
            plugin::UPDATE_POD_SANDBOX => {
                let request = UpdatePodSandboxRequest::deserialize(request)?;
                Self::UpdatePod {
                    pod: id("pod"),
                    overhead: Box::new(request.overhead_linux_resources.unwrap_or_default()),
                    resources: Box::new(request.linux_resources.unwrap_or_default()),
                }
            }
            plugin::STOP_POD_SANDBOX => Self::StopPod(id("pod")),
            plugin::REMOVE_POD_SANDBOX => {
                RemovePodSandboxRequest::deserialize(request)?;
                Self::RemovePod(id("pod"))
            }
            plugin::CREATE_CONTAINER => {
                Self::Create(Box::new(CreateContainerRequest::deserialize(request)?))
            }
            plugin::START_CONTAINER => {
                StartContainerRequest::deserialize(request)?;
                Self::Start(id("container"))
            }
            plugin::UPDATE_CONTAINER => {
                let request = UpdateContainerRequest::deserialize(request)?;
                Self::Update {
                    container: id("container"),
                    resources: Box::new(request.linux_resources.unwrap_or_default()),
                }
            }
            plugin::STOP_CONTAINER => {
                StopContainerRequest::deserialize(request)?;
                Self::Exit(id("container"))
            }
            plugin::REMOVE_CONTAINER => Self::Remove(id("container")),
            plugin::STATE_CHANGE => {
                let change = StateChangeEvent::deserialize(request)?;
                match change.event() {
                    Event::RunPodSandbox => Self::RunPod(Box::new(change.pod.unwrap_or_default())),
                    Event::StopPodSandbox => Self::StopPod(id("pod")),
                    Event::RemovePodSandbox => Self::RemovePod(id("pod")),
                    Event::StartContainer => Self::Start(id("container")),
                    Event::RemoveContainer => Self::Remove(id("container")),
                    _ => return Ok(None),
                }
            }
            _ => return Ok(None),
        }))
    }

    /// Has it happen.
    ///
    /// # Errors
    ///
    /// There is no such pod or container.
    pub async fn happen(self, runtime: &FakeRuntime) -> Result<Happened, NotThere> {
        Ok(Happened::Turn(match self {
            Self::Create(request) => {
                let CreateContainerRequest { pod, container } = *request;
                let created = runtime.create_container(pod, container).await;
                return Ok(Happened::Created(Box::new(created)));
            }
            Self::RunPod(pod) => runtime.run_pod(*pod).await,
            Self::UpdatePod {
                pod,
                overhead,
                resources,
            } => runtime.update_pod(&pod, *overhead, *resources).await?,
            Self::StopPod(pod) => runtime.stop_pod(&pod).await?,
            Self::RemovePod(pod) => runtime.remove_pod(&pod).await?,
            Self::Start(container) => runtime.start_container(&container).await?,
            Self::Update {
                container,
                resources,
            } => runtime.update_container(&container, *resources).await?,
            Self::Exit(container) => runtime.stop_container(&container).await?,
            Self::Remove(container) => runtime.remove_container(&container).await?,
        }))
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::RunPod(pod) => write!(out, "pod {} runs", pod.id),
            Self::UpdatePod { pod, .. } => write!(out, "pod {pod} is updated"),
            Self::StopPod(pod) => write!(out, "pod {pod} stops"),
            Self::RemovePod(pod) => write!(out, "pod {pod} is removed"),
            Self::Create(request) => {
                write!(out, "{} is created", crate::create::name_of(request))
            }
            Self::Start(container) => write!(out, "container {container} starts"),
            Self::Update { container, .. } => write!(out, "container {container} is updated"),
            Self::Exit(container) => write!(out, "container {container} ends"),
            Self::Remove(container) => write!(out, "container {container} is removed"),
        }
    }
}
