//! CreateContainer over the socket: every plugin's answer, and what becomes of the container.

use std::time::Duration;

use nri_proto::api::{
    Container, ContainerState, CreateContainerRequest, CreateContainerResponse, Event, Hooks,
    Mount, PodSandbox,
};
use tokio::time::Instant;

use super::asked::Asked;
use super::hub::Hub;
use super::life;
use super::plan::Call;
use super::plugin::Plugin;
use super::received::Received;
use super::running::{Alive, Updated};
use super::telling::tell;
use super::told::Told;
use super::updates::Updates;
use super::validation::validate;
use crate::apply;
use crate::collect::{Collector, Combined};
use crate::create::{Answer, CreateError, Reason, container_id, name_of};
use crate::oci::Spec;

/// A container that was created.
#[derive(Clone, Debug)]
pub struct Created {
    /// Every plugin that was asked, in that order.
    pub asked: Vec<Asked>,
    /// What they changed of other containers, and what became of it.
    pub updates: Vec<Updated>,
    /// Every plugin that was told afterwards.
    pub told: Vec<Told>,
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
    /// Every plugin that was told that there will be no such container.
    pub told: Vec<Told>,
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
    let mut updates = Vec::new();
    let mut told = Vec::new();
    let pod = request.pod.clone().unwrap_or_default();
    let container = request.container.clone().unwrap_or_default();
    match play(hub, request, &before, &mut asked, &mut updates).await {
        Ok((adjustment, after)) => {
            announce(hub, &pod, container, &after, &mut told).await;
            Ok(Created {
                asked,
                updates,
                told,
                adjustment,
                before,
                after,
                took: start.elapsed(),
            })
        }
        Err(reason) => {
            if !matches!(reason, Reason::RuntimeDied(_)) {
                life::undo(hub, &pod, &container, &mut told).await;
            }
            Err(Refused {
                error: reason.told(hub.profile, &id),
                asked,
                told,
                took: start.elapsed(),
            })
        }
    }
}

async fn play(
    hub: &Hub,
    request: CreateContainerRequest,
    before: &Spec,
    asked: &mut Vec<Asked>,
    updated: &mut Vec<Updated>,
) -> Result<(Combined, Spec), Reason> {
    if let Some(plugin) = hub.take_lost_validators().into_iter().next() {
        return Err(Reason::ValidatorFailed {
            plugin,
            why: "ttrpc: closed".to_owned(),
        });
    }
    let plugins = hub.plugins();
    let mut collector = Collector::new(hub.profile, request.clone());
    let mut updates = Updates::new(hub.profile);
    for plugin in plugins.iter().filter(|plugin| plugin.creates_containers()) {
        let one = ask(hub, plugin, collector.request().clone()).await;
        let answered = collector.answer(&one.plugin, &one.answer);
        let wanted = answered.and_then(|()| updates.of_others(&one, &request));
        asked.push(one);
        wanted?;
    }
    let owners = collector.owners();
    let adjustment = collector.finish();
    validate(hub, &plugins, request, asked, &adjustment, owners).await?;
    for update in updates.all() {
        updated.push(hub.running(|running| running.update(update)));
    }
    let after = apply::apply(hub.profile, before.clone(), &adjustment, &hub.host)?;
    Ok((adjustment, after))
}

impl Updates {
    /// Adds what a plugin wants of other containers; of the one in creation it may want nothing.
    fn of_others(&mut self, asked: &Asked, request: &CreateContainerRequest) -> Result<(), Reason> {
        let id = request.container.as_ref().map_or("", |it| &it.id);
        let plugin = &asked.plugin;
        if asked.updates.iter().any(|update| update.container_id == id) {
            return Err(Reason::Updates(format!(
                "plugin {plugin:?} asked update of {id:?} during creation"
            )));
        }
        self.add(plugin, &asked.updates).map_err(Reason::Updates)
    }
}

/// Tells of the new container, and remembers it where its pod is known.
async fn announce(
    hub: &Hub,
    pod: &PodSandbox,
    container: Container,
    after: &Spec,
    told: &mut Vec<Told>,
) {
    let mut container = adjusted(container, after);
    if hub.profile.requests.container_times {
        container.created_at = life::now();
    }
    hub.running(|running| {
        if running.pods.contains_key(&container.pod_sandbox_id) {
            let alive = Alive {
                container: container.clone(),
                needs_stopping: true,
                refuses_updates: false,
            };
            running.containers.insert(container.id.clone(), alive);
        }
    });
    // Only logged.
    let news = life::of_container(Event::PostCreateContainer, pod, &container);
    let _ = tell(hub, &news, told).await;
}

/// The container as it is told of once it exists.
fn adjusted(container: Container, after: &Spec) -> Container {
    let mount = |mount: &crate::oci::Mount| Mount {
        destination: mount.destination().display().to_string(),
        r#type: mount.typ().clone().unwrap_or_default(),
        source: mount
            .source()
            .as_ref()
            .map(|source| source.display().to_string())
            .unwrap_or_default(),
        options: mount.options().clone().unwrap_or_default(),
    };
    Container {
        state: ContainerState::ContainerCreated.into(),
        args: after.process.args.clone(),
        env: after.process.env.clone(),
        mounts: after.mounts.iter().map(mount).collect(),
        annotations: after.annotations.clone(),
        hooks: container.hooks.filter(|hooks| *hooks != Hooks::default()),
        ..container
    }
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
    let mut updates = Vec::new();
    let mut evictions = Vec::new();
    let answer = match answer {
        Ok(response) => {
            updates = response.update;
            evictions.extend(response.evict.into_iter().map(|it| it.container_id));
            Answer::Adjust(Box::new(response.adjust.unwrap_or_default()))
        }
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
        updates,
        evictions,
        latency,
    }
}
