//! Checks of how a plugin introduces itself.

use nri_proto::api::{
    CreateContainerRequest, Event, LinuxCpu, LinuxMemory, LinuxResources, StateChangeEvent,
    UpdateContainerRequest, plugin,
};

use super::samples;
use super::session::{Session, Subject, start};
use super::{Judged, Outcome, failed, passed, skipped};
use crate::create::Answer;
use crate::runtime::{PluginInfo, Received};

/// The plugin connects and says who it is, before anything else.
pub(super) async fn registers(subject: &Subject) -> Judged {
    let mut session = subject.start_on(start(subject.builder()).await?)?;
    let plugin = match session.registered().await {
        Ok(plugin) => plugin,
        Err(why) => return failed(why),
    };
    let early = session
        .runtime
        .received()
        .into_iter()
        .find(|received| !matches!(received, Received::Connected { .. }));
    match early {
        Some(Received::Registered { .. }) | None => passed(format!("registered as {plugin}")),
        Some(other) => failed(format!("before its registration it {other}")),
    }
}

/// The same where Configure comes before the answer.
pub(super) async fn takes_configure_first(subject: &Subject) -> Judged {
    // A plugin that does not register at all is no matter of this check.
    drop(subject.start().await?);
    let runtime = start(subject.builder()).await?;
    runtime.configure_first();
    let mut session = subject.start_on(runtime)?;
    match session.registered().await {
        Ok(_) => passed("answered Configure while its registration was not answered yet"),
        Err(why) => failed(format!(
            "Configure came before the answer to its registration: {why}"
        )),
    }
}

/// Every event that the plugin subscribes to is one that it implements.
pub(super) async fn implements_its_events(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let info = plugin_of(&session).await?;
    let known = subject.profile.events;
    let events = if info.events == 0 { known } else { info.events };
    let about = subject.plain()?;
    let mut subscribed = Vec::new();
    let mut missing = Vec::new();
    for event in (1..Event::Last as i32).filter_map(|event| Event::try_from(event).ok()) {
        if events & (1 << (event as i32 - 1)) == 0 {
            continue;
        }
        subscribed.push(event.as_str_name());
        match session.implements(subject, event, &about).await? {
            Ok(true) => {}
            Ok(false) => missing.push(event.as_str_name()),
            // Judged by itself.
            Err(_) if event == Event::CreateContainer => {
                return skipped("it gave no answer about a container");
            }
            Err(why) => return failed(format!("told of {}: {why}", event.as_str_name())),
        }
    }
    let mask = info.events;
    match missing.is_empty() {
        true => passed(format!("{mask:#x}: {}", subscribed.join(", "))),
        false if mask == 0 => failed(format!(
            "subscribes to 0, which is every event, and does not implement {}",
            missing.join(", ")
        )),
        false => failed(format!(
            "subscribes to {mask:#x} and does not implement {}",
            missing.join(", ")
        )),
    }
}

/// Whether the plugin has a method, or what became of it over that.
type Implemented = Result<Result<bool, String>, Outcome>;

impl Session {
    /// Whether the plugin takes the event as this runtime sends it: by its own method, and where the plugin is older
    /// or the runtime is, by the one for all events without an answer.
    async fn implements(
        &mut self,
        subject: &Subject,
        event: Event,
        about: &CreateContainerRequest,
    ) -> Implemented {
        let CreateContainerRequest { pod, container } = about.clone();
        if !is_plain(event) || subject.profile.lifecycle_calls {
            // Pod and container stand in the same fields of every such request, and resources in the third.
            let own = UpdateContainerRequest {
                pod: pod.clone(),
                container: container.clone().filter(|_| is_of_container(event)),
                linux_resources: Some(LinuxResources {
                    cpu: Some(LinuxCpu::default()),
                    memory: Some(LinuxMemory::default()),
                    ..Default::default()
                }),
            };
            match self.has(method(event), &own).await? {
                Ok(false) if is_plain(event) => {}
                known => return Ok(known),
            }
        }
        let state_change = StateChangeEvent {
            event: event.into(),
            pod,
            container: container.filter(|_| is_of_container(event)),
        };
        self.has(plugin::STATE_CHANGE, &state_change).await
    }

    /// Whether the plugin says anything but that it does not have the method.
    async fn has(&mut self, method: &str, request: &impl prost::Message) -> Implemented {
        match self.runtime.call(method, request).await {
            Ok(Answer::Error { code, .. }) => Ok(Ok(code != "Unimplemented")),
            Ok(Answer::Adjust(_)) => Ok(Ok(true)),
            Ok(Answer::Lost(why)) => Ok(Err(self.exit_soon().await.unwrap_or(why))),
            Err(_) => Err(Outcome::Skipped(format!(
                "it was gone before it was asked {method}"
            ))),
        }
    }
}

fn method(event: Event) -> &'static str {
    match event {
        Event::RunPodSandbox => plugin::RUN_POD_SANDBOX,
        Event::StopPodSandbox => plugin::STOP_POD_SANDBOX,
        Event::RemovePodSandbox => plugin::REMOVE_POD_SANDBOX,
        Event::CreateContainer => plugin::CREATE_CONTAINER,
        Event::PostCreateContainer => plugin::POST_CREATE_CONTAINER,
        Event::StartContainer => plugin::START_CONTAINER,
        Event::PostStartContainer => plugin::POST_START_CONTAINER,
        Event::UpdateContainer => plugin::UPDATE_CONTAINER,
        Event::PostUpdateContainer => plugin::POST_UPDATE_CONTAINER,
        Event::StopContainer => plugin::STOP_CONTAINER,
        Event::RemoveContainer => plugin::REMOVE_CONTAINER,
        Event::UpdatePodSandbox => plugin::UPDATE_POD_SANDBOX,
        Event::PostUpdatePodSandbox => plugin::POST_UPDATE_POD_SANDBOX,
        Event::ValidateContainerAdjustment | Event::Unknown | Event::Last => {
            plugin::VALIDATE_CONTAINER_ADJUSTMENT
        }
    }
}

/// Whether nothing is answered to the event, so that StateChange may stand for it.
fn is_plain(event: Event) -> bool {
    !matches!(
        event,
        Event::CreateContainer
            | Event::UpdateContainer
            | Event::StopContainer
            | Event::UpdatePodSandbox
            | Event::ValidateContainerAdjustment
    )
}

fn is_of_container(event: Event) -> bool {
    !matches!(
        event,
        Event::RunPodSandbox
            | Event::StopPodSandbox
            | Event::RemovePodSandbox
            | Event::UpdatePodSandbox
            | Event::PostUpdatePodSandbox
    )
}

/// The plugin takes an inventory of several messages, and says so by giving `more` back.
pub(super) async fn takes_parts(subject: &Subject) -> Judged {
    if !subject.profile.splits_synchronize {
        return skipped(format!(
            "containerd {} never splits an inventory",
            subject.profile.name
        ));
    }
    drop(subject.start().await?);
    let (pods, containers) = samples::inventory(subject.plain()?, samples::MANY_PODS);
    // This is not about time: a slow machine may be slow.
    let builder = subject.patient_builder().inventory(pods, containers);
    let mut session = subject.start_on(start(builder).await?)?;
    if let Err(why) = session.registered().await {
        return failed(format!("given an inventory in parts: {why}"));
    }
    let parts = session
        .runtime
        .received()
        .into_iter()
        .find_map(|received| match received {
            Received::Synchronized { parts, .. } => Some(parts),
            _ => None,
        });
    passed(format!(
        "took an inventory in {} parts",
        parts.unwrap_or_default()
    ))
}

async fn plugin_of(session: &Session) -> Result<PluginInfo, Outcome> {
    let registered = session.runtime.plugin_registered().await;
    registered.map_err(|_| Outcome::Skipped("it is no longer registered".to_owned()))
}
