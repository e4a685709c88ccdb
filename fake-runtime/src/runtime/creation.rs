//! CreateContainer over the socket: each plugin's answer, and what becomes of the container.

use std::fmt;
use std::time::Duration;

use nri_proto::api::{
    Container, ContainerAdjustment, CreateContainerRequest, CreateContainerResponse, PodSandbox,
};
use nri_proto::wire::Status;
use tokio::time::Instant;

use super::calls::{self, Failure};
use super::hub::Hub;
use super::plugin::Plugin;
use super::received::{Received, count};

/// What came back from a plugin that was asked about a container.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What to adjust; `None` for nothing.
    Adjust(Option<Box<ContainerAdjustment>>),
    /// An error, which refuses the container. So does an answer that cannot be decoded.
    Error(Status),
    /// None: too late, or the connection broke. The container is created without it. Says why.
    Lost(String),
}

/// An answer, and whose it is.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerOf {
    /// The plugin, as `IDX-NAME`.
    pub plugin: String,
    /// What it was asked: the container as adjusted by those before it.
    pub request: CreateContainerRequest,
    /// What it answered.
    pub answer: Answer,
    /// How long that took.
    pub latency: Duration,
}

/// A container that was created.
#[derive(Clone, Debug)]
pub struct Created {
    /// Each plugin's answer, in the order in which they were asked.
    pub answers: Vec<AnswerOf>,
    /// How long it took in all.
    pub took: Duration,
}

/// A container that was refused.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Why, as containerd's answer to the CRI call says it.
    pub message: String,
    /// Each plugin's answer until then, in the order in which they were asked.
    pub answers: Vec<AnswerOf>,
    /// How long it took in all.
    pub took: Duration,
}

/// How every refusal begins that comes of asking the plugins.
const REFUSED: &str =
    "failed to create containerd container: failed to get NRI adjustment for container";

/// Plays one CreateContainer.
pub(super) async fn create(
    hub: &Hub,
    pod: Option<PodSandbox>,
    container: Option<Container>,
) -> Result<Created, Refused> {
    let _one_at_a_time = hub.requests.lock().await;
    let start = Instant::now();
    let named = name(pod.as_ref(), container.as_ref());
    let request = CreateContainerRequest { pod, container };
    let mut answers = Vec::new();
    for plugin in hub
        .plugins()
        .iter()
        .filter(|plugin| plugin.creates_containers())
    {
        let answer = ask(hub, plugin, &named, request.clone()).await;
        answers.push(answer);
        if let Some(AnswerOf {
            answer: Answer::Error(status),
            ..
        }) = answers.last()
        {
            let message = format!("{REFUSED}: {}", Failure::Answered(status.clone()));
            return Err(Refused {
                message,
                answers,
                took: start.elapsed(),
            });
        }
    }
    Ok(Created {
        answers,
        took: start.elapsed(),
    })
}

async fn ask(hub: &Hub, plugin: &Plugin, named: &str, request: CreateContainerRequest) -> AnswerOf {
    let start = Instant::now();
    let within = hub.timeouts.request;
    let answer =
        calls::call::<CreateContainerResponse>(&plugin.caller, within, "CreateContainer", &request)
            .await;
    let latency = start.elapsed();
    let answer = match answer {
        Ok(response) => Answer::Adjust(response.adjust.map(Box::new)),
        Err(Failure::Answered(status)) => Answer::Error(status),
        Err(Failure::TooLarge(length)) => {
            let message = format!("message length {length} exceeds the maximum message size");
            Answer::Error(Status::new(
                nri_proto::wire::Code::RESOURCE_EXHAUSTED,
                message,
            ))
        }
        Err(Failure::Lost(why)) => {
            plugin.close(hub, &why);
            Answer::Lost(why)
        }
    };
    let name = plugin.info.to_string();
    hub.note(Received::CreateContainer {
        plugin: name.clone(),
        container: named.to_owned(),
        answer: answer.clone(),
    });
    AnswerOf {
        plugin: name,
        request,
        answer,
        latency,
    }
}

/// `namespace/pod/container`, as far as there are such.
fn name(pod: Option<&PodSandbox>, container: Option<&Container>) -> String {
    let pod = pod.map_or_else(
        || "no pod".to_owned(),
        |p| format!("{}/{}", p.namespace, p.name),
    );
    format!(
        "{pod}/{}",
        container.map_or("no container", |container| &container.name)
    )
}

impl fmt::Display for Answer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adjust(None) => out.write_str("adjusted nothing"),
            Self::Adjust(Some(adjustment)) => {
                let devices = adjustment
                    .linux
                    .as_ref()
                    .map_or(0, |linux| linux.devices.len());
                let parts = [
                    count(adjustment.mounts.len(), "mount"),
                    count(adjustment.env.len(), "variable"),
                    count(devices, "device"),
                    count(adjustment.cdi_devices.len(), "CDI device"),
                ];
                write!(out, "adjusted it: {}", parts.join(", "))
            }
            Self::Error(status) => write!(out, "answered with an error: {status}"),
            Self::Lost(why) => write!(out, "gave no answer: {why}"),
        }
    }
}
