//! Telling plugins of what happened, where nothing is answered to it.

use std::sync::atomic::Ordering;

use nri_proto::api::{
    Container, Empty, Event, PodSandbox, StateChangeEvent, UpdatePodSandboxRequest, plugin,
};
use nri_proto::wire::Code;
use tokio::time::Instant;

use super::calls::Failure;
use super::hub::Hub;
use super::plugin::Plugin;
use super::received::Received;
use super::told::{Heard, Told};

/// What plugins are told of.
#[derive(Clone, Debug)]
pub(super) struct News {
    pub(super) event: Event,
    pub(super) pod: PodSandbox,
    pub(super) container: Option<Container>,
}

/// Tells everyone who subscribed, in the order of their indices, until one answers with an error: which is returned.
pub(super) async fn tell(hub: &Hub, news: &News, told: &mut Vec<Told>) -> Result<(), String> {
    for plugin in hub.plugins() {
        if !plugin.subscribed_to(news.event) {
            continue;
        }
        let start = Instant::now();
        let heard = tell_one(hub, &plugin, news).await;
        let heard = heard_by(hub, &plugin, news.event, start, heard, told);
        if let Heard::Error(why) = heard {
            return Err(why);
        }
    }
    Ok(())
}

/// Writes down how a plugin took it.
pub(super) fn heard_by<T>(
    hub: &Hub,
    plugin: &Plugin,
    event: Event,
    start: Instant,
    answer: Result<T, Failure>,
    told: &mut Vec<Told>,
) -> Heard {
    let heard = match answer {
        Ok(_) => Heard::Well,
        Err(failure @ (Failure::Answered(_) | Failure::TooLarge(_))) => {
            Heard::Error(failure.to_string())
        }
        Err(failure) => Heard::Lost(failure.to_string()),
    };
    let plugin = plugin.info.to_string();
    hub.note(Received::Told {
        plugin: plugin.clone(),
        event,
        heard: heard.clone(),
    });
    told.push(Told {
        plugin,
        event,
        heard: heard.clone(),
        latency: start.elapsed(),
    });
    heard
}

async fn tell_one(hub: &Hub, plugin: &Plugin, news: &News) -> Result<Empty, Failure> {
    let News {
        event,
        pod,
        container,
    } = news;
    let own = own_method(*event).filter(|_| hub.profile.lifecycle_calls);
    if let Some(method) = own
        && !plugin.is_older.load(Ordering::Relaxed)
    {
        // Pod and container stand in the same fields of all of these requests.
        let request = UpdatePodSandboxRequest {
            pod: Some(pod.clone()),
            ..Default::default()
        };
        let answer = match container {
            Some(container) => {
                let request = nri_proto::api::StartContainerRequest {
                    pod: Some(pod.clone()),
                    container: Some(container.clone()),
                };
                plugin.call::<Empty>(hub, method, &request).await
            }
            None => plugin.call::<Empty>(hub, method, &request).await,
        };
        match answer {
            // Built before there were such calls: from now on it is told as then.
            Err(Failure::Answered(status)) if status.code == Code::UNIMPLEMENTED => {
                plugin.is_older.store(true, Ordering::Relaxed);
            }
            answer => return answer,
        }
    }
    let request = StateChangeEvent {
        event: (*event).into(),
        pod: Some(pod.clone()),
        container: container.clone(),
    };
    plugin
        .call::<Empty>(hub, plugin::STATE_CHANGE, &request)
        .await
}

/// The call that an event has of its own where runtimes make such.
fn own_method(event: Event) -> Option<&'static str> {
    Some(match event {
        Event::RunPodSandbox => plugin::RUN_POD_SANDBOX,
        Event::PostUpdatePodSandbox => plugin::POST_UPDATE_POD_SANDBOX,
        Event::StopPodSandbox => plugin::STOP_POD_SANDBOX,
        Event::RemovePodSandbox => plugin::REMOVE_POD_SANDBOX,
        Event::PostCreateContainer => plugin::POST_CREATE_CONTAINER,
        Event::StartContainer => plugin::START_CONTAINER,
        Event::PostStartContainer => plugin::POST_START_CONTAINER,
        Event::PostUpdateContainer => plugin::POST_UPDATE_CONTAINER,
        Event::RemoveContainer => plugin::REMOVE_CONTAINER,
        _ => return None,
    })
}
