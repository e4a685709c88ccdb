//! CreateContainer over the socket: every plugin's answer, and what becomes of the container.

use std::time::Duration;

use nri_proto::api::{CreateContainerRequest, CreateContainerResponse};
use tokio::time::Instant;

use super::hub::Hub;
use super::plan::Call;
use super::plugin::Plugin;
use super::received::Received;
use super::validation::validate;
use crate::apply;
use crate::collect::{Collector, Combined};
use crate::create::{Answer, CreateError, Reason, container_id, name_of};
use crate::oci::Spec;

/// A plugin that was asked, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
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
    /// Every plugin that was asked, in that order.
    pub asked: Vec<Asked>,
    /// All adjustments, merged.
    pub adjustment: Combined,
    /// The container's OCI spec without any adjustment.
    pub before: Spec,
    /// The container's OCI spec as runc gets it.
    pub after: Spec,
    /// How long it took in all.
    pub took: Duration,
}

/// A container that was refused.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct Refused {
    /// Why. Its text is the runtime's answer to the CRI call.
    pub error: CreateError,
    /// Every plugin that was asked until then, in that order.
    pub asked: Vec<Asked>,
    /// How long it took in all.
    pub took: Duration,
}

/// Plays one CreateContainer.
pub(super) async fn create(
    hub: &Hub,
    request: CreateContainerRequest,
    before: Spec,
) -> Result<Created, Refused> {
    let _one_at_a_time = hub.requests.lock().await;
    create_at_once(hub, request, before).await
}

/// The same, whatever else is going on.
pub(super) async fn create_at_once(
    hub: &Hub,
    request: CreateContainerRequest,
    before: Spec,
) -> Result<Created, Refused> {
    let start = Instant::now();
    let id = container_id(&request);
    let mut asked = Vec::new();
    match play(hub, request, &before, &mut asked).await {
        Ok((adjustment, after)) => Ok(Created {
            asked,
            adjustment,
            before,
            after,
            took: start.elapsed(),
        }),
        Err(reason) => Err(Refused {
            error: reason.told(hub.profile, &id),
            asked,
            took: start.elapsed(),
        }),
    }
}

async fn play(
    hub: &Hub,
    request: CreateContainerRequest,
    before: &Spec,
    asked: &mut Vec<Asked>,
) -> Result<(Combined, Spec), Reason> {
    if let Some(plugin) = hub.take_lost_validators().into_iter().next() {
        return Err(Reason::ValidatorFailed {
            plugin,
            why: "ttrpc: closed".to_owned(),
        });
    }
    let plugins = hub.plugins();
    let mut collector = Collector::new(hub.profile, request.clone());
    for plugin in plugins.iter().filter(|plugin| plugin.creates_containers()) {
        let one = ask(hub, plugin, collector.request().clone()).await;
        let answered = collector.answer(&one.plugin, &one.answer);
        asked.push(one);
        answered?;
    }
    let owners = collector.owners();
    let adjustment = collector.finish();
    validate(hub, &plugins, request, &adjustment, owners).await?;
    let after = apply::apply(hub.profile, before.clone(), &adjustment, &hub.host)?;
    Ok((adjustment, after))
}

async fn ask(hub: &Hub, plugin: &Plugin, request: CreateContainerRequest) -> Asked {
    hub.plan.delay(Call::CreateContainer).await;
    plugin.link.set_pace(hub.plan.pace());
    let start = Instant::now();
    let answer = plugin
        .call::<CreateContainerResponse>(hub, "CreateContainer", &request)
        .await;
    let latency = start.elapsed();
    plugin.link.set_pace(None);
    let answer = match answer {
        Ok(response) => Answer::Adjust(Box::new(response.adjust.unwrap_or_default())),
        Err(failure) => failure.into(),
    };
    let name = plugin.info.to_string();
    hub.note(Received::CreateContainer {
        plugin: name.clone(),
        container: name_of(&request),
        answer: answer.clone(),
    });
    Asked {
        plugin: name,
        request,
        answer,
        latency,
    }
}
