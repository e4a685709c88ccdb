//! A pod's whole life: what containerd tells plugins at each turn of it, and what it makes of their answers.
//!
//! Pods are run, containers created in them, updated, crashed, stopped and removed, each by a method that does what the
//! CRI call of that name does. A container can be created without any of this too: then nothing is remembered of it.

use nri_proto::api::{
    Container, ContainerState, ContainerUpdate, Event, LinuxCpu, LinuxMemory, LinuxPodSandbox,
    LinuxResources, OptionalInt64, OptionalUInt64, PodSandbox, StopContainerRequest,
    StopContainerResponse, UpdateContainerRequest, UpdateContainerResponse,
    UpdatePodSandboxRequest, UpdatePodSandboxResponse, plugin,
};
use tokio::time::Instant;

use super::FakeRuntime;
use super::hub::Hub;
use super::running::{Alive, Updated, set};
use super::telling::{News, heard_by, tell};
use super::told::{Heard, Told};
use super::updates::Updates;

/// The process of every container that is started: there is none.
const PID: u32 = 4343;

/// What came of one turn of a pod's life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Turn {
    /// The plugins that were told, in that order.
    pub told: Vec<Told>,
    /// What they asked to be changed, and what became of that.
    pub updates: Vec<Updated>,
    /// containerd's answer to the CRI call, where it refuses it.
    pub refused: Option<String>,
}

/// What is asked for is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} {id} on the node")]
pub struct NotThere {
    what: &'static str,
    id: String,
}

impl FakeRuntime {
    /// Runs a pod.
    pub async fn run_pod(&self, pod: PodSandbox) -> Turn {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let mut turn = Turn::default();
        let news = |event| of_pod(event, &pod);
        if let Err(why) = tell(hub, &news(Event::RunPodSandbox), &mut turn.told).await {
            turn.refused = Some(format!("NRI RunPodSandbox failed: {why}"));
            for event in [Event::StopPodSandbox, Event::RemovePodSandbox] {
                // Refused already.
                let _ = tell(hub, &news(event), &mut turn.told).await;
            }
            return turn;
        }
        hub.running(|running| running.pods.insert(pod.id.clone(), pod));
        turn
    }

    /// Changes a pod's resources. Versions that do not know this tell nobody.
    ///
    /// # Errors
    ///
    /// There is no such pod.
    pub async fn update_pod(
        &self,
        id: &str,
        overhead: LinuxResources,
        resources: LinuxResources,
    ) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let pod = hub.pod(id)?;
        let mut turn = Turn::default();
        if hub.profile.events & bit(Event::UpdatePodSandbox) == 0 {
            return Ok(turn);
        }
        let request = UpdatePodSandboxRequest {
            pod: Some(pod.clone()),
            overhead_linux_resources: Some(overhead),
            linux_resources: Some(resources),
        };
        for plugin in hub.plugins() {
            if !plugin.subscribed_to(Event::UpdatePodSandbox) {
                continue;
            }
            let start = Instant::now();
            let answer = plugin
                .call::<UpdatePodSandboxResponse>(hub, plugin::UPDATE_POD_SANDBOX, &request)
                .await;
            let event = Event::UpdatePodSandbox;
            if let Heard::Error(why) = heard_by(hub, &plugin, event, start, answer, &mut turn.told)
            {
                turn.refused = Some(format!("NRI sandbox update failed: {why}"));
                return Ok(turn);
            }
        }
        // Only logged.
        let _ = tell(
            hub,
            &of_pod(Event::PostUpdatePodSandbox, &pod),
            &mut turn.told,
        )
        .await;
        Ok(turn)
    }

    /// Stops a pod, and first the containers in it that run.
    ///
    /// # Errors
    ///
    /// There is no such pod.
    pub async fn stop_pod(&self, id: &str) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let mut pod = hub.pod(id)?;
        let mut turn = Turn::default();
        for container in hub.containers_of(id) {
            stopped(hub, &pod, &container, KILLED, &mut turn).await;
        }
        // Its process is gone by then.
        pod.pid = 0;
        if !hub.profile.stopped_pod_spec {
            pod = without_spec(pod);
        }
        hub.running(|running| running.pods.insert(pod.id.clone(), pod.clone()));
        // Only logged.
        let _ = tell(hub, &of_pod(Event::StopPodSandbox, &pod), &mut turn.told).await;
        Ok(turn)
    }

    /// Removes a pod with all its containers.
    ///
    /// # Errors
    ///
    /// There is no such pod.
    pub async fn remove_pod(&self, id: &str) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let pod = without_spec(hub.pod(id)?);
        let mut turn = Turn::default();
        for container in hub.containers_of(id) {
            removed(hub, &pod, &container, &mut turn).await;
        }
        // Only logged.
        let _ = tell(hub, &of_pod(Event::RemovePodSandbox, &pod), &mut turn.told).await;
        hub.running(|running| running.pods.remove(id));
        Ok(turn)
    }

    /// Starts a container.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub async fn start_container(&self, id: &str) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let (pod, mut container) = hub.container(id)?;
        let mut turn = Turn::default();
        container.pid = PID;
        hub.set_container(&container);
        let news = of_container(Event::StartContainer, &pod, &container);
        if let Err(why) = tell(hub, &news, &mut turn.told).await {
            turn.refused = Some(format!("NRI container start failed: {why}"));
            stopped(hub, &pod, id, KILLED, &mut turn).await;
            return Ok(turn);
        }
        container.state = ContainerState::ContainerRunning.into();
        if hub.profile.requests.container_times {
            container.started_at = now();
        }
        hub.set_container(&container);
        // Only logged.
        let news = of_container(Event::PostStartContainer, &pod, &container);
        let _ = tell(hub, &news, &mut turn.told).await;
        Ok(turn)
    }

    /// Changes a container's resources.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub async fn update_container(
        &self,
        id: &str,
        resources: LinuxResources,
    ) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let (pod, container) = hub.container(id)?;
        let mut turn = Turn::default();
        let mut request = UpdateContainerRequest {
            pod: Some(pod.clone()),
            container: Some(container),
            linux_resources: Some(as_cri_has_them(resources)),
        };
        let mut updates = Updates::new(hub.profile);
        for plugin in hub.plugins() {
            if !plugin.subscribed_to(Event::UpdateContainer) {
                continue;
            }
            let start = Instant::now();
            let answer = plugin
                .call::<UpdateContainerResponse>(hub, plugin::UPDATE_CONTAINER, &request)
                .await;
            let asked_for = answer
                .as_ref()
                .map(|it| it.update.clone())
                .unwrap_or_default();
            let heard = heard_by(
                hub,
                &plugin,
                Event::UpdateContainer,
                start,
                answer,
                &mut turn.told,
            );
            let merged = match heard {
                Heard::Error(why) => Err(why),
                _ => updates.add(&plugin.info.to_string(), &asked_for),
            };
            if let Err(why) = merged {
                turn.refused = Some(format!("NRI container update failed: {why}"));
                return Ok(turn);
            }
            if let Some(own) = updates.resources_of(id) {
                set(request.linux_resources.get_or_insert_default(), own);
            }
        }
        for update in updates.all().filter(|update| update.container_id != id) {
            turn.updates
                .push(hub.running(|running| running.update(update)));
        }
        let own = update_of(id, request.linux_resources.unwrap_or_default());
        turn.updates
            .push(hub.running(|running| running.update(&own)));
        // Only logged.
        let (_, container) = hub.container(id)?;
        let news = of_container(Event::PostUpdateContainer, &pod, &container);
        let _ = tell(hub, &news, &mut turn.told).await;
        Ok(turn)
    }

    /// Stops a container.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub async fn stop_container(&self, id: &str) -> Result<Turn, NotThere> {
        self.container_exits(id, KILLED).await
    }

    /// A container ends by itself, with this status.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub async fn container_exits(&self, id: &str, exit_code: i32) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let (pod, _) = hub.container(id)?;
        let mut turn = Turn::default();
        stopped(hub, &pod, id, exit_code, &mut turn).await;
        Ok(turn)
    }

    /// Removes a container, after stopping it where that is still to be done.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub async fn remove_container(&self, id: &str) -> Result<Turn, NotThere> {
        let hub = &self.hub;
        let _one_at_a_time = hub.requests.lock().await;
        let (pod, _) = hub.container(id)?;
        let mut turn = Turn::default();
        removed(hub, &pod, id, &mut turn).await;
        Ok(turn)
    }

    /// From now on the kernel refuses to change this container's limits, as it does with a memory limit below what is
    /// in use.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub fn refuse_updates_of(&self, id: &str) -> Result<(), NotThere> {
        self.hub.container(id)?;
        self.hub.running(|running| {
            if let Some(alive) = running.containers.get_mut(id) {
                alive.refuses_updates = true;
            }
        });
        Ok(())
    }

    /// A container as it is now.
    ///
    /// # Errors
    ///
    /// There is no such container.
    pub fn container(&self, id: &str) -> Result<Container, NotThere> {
        Ok(self.hub.container(id)?.1)
    }
}

/// There will be no such container: whoever was asked about it is told so.
pub(super) async fn undo(hub: &Hub, pod: &PodSandbox, container: &Container, told: &mut Vec<Told>) {
    let request = StopContainerRequest {
        pod: Some(pod.clone()),
        container: Some(container.clone()),
    };
    for plugin in hub.plugins() {
        if plugin.subscribed_to(Event::StopContainer) {
            let start = Instant::now();
            let answer = plugin
                .call::<StopContainerResponse>(hub, plugin::STOP_CONTAINER, &request)
                .await;
            heard_by(hub, &plugin, Event::StopContainer, start, answer, told);
        }
    }
    // Only logged.
    let news = of_container(Event::RemoveContainer, pod, container);
    let _ = tell(hub, &news, told).await;
}

/// The exit status of what SIGKILL ends.
const KILLED: i32 = 137;

/// A container has ended: the plugins are told, and what they give to others is given.
async fn stopped(hub: &Hub, pod: &PodSandbox, id: &str, exit_code: i32, turn: &mut Turn) {
    let Some(Alive {
        mut container,
        needs_stopping: true,
        ..
    }) = hub.running(|running| running.containers.get(id).cloned())
    else {
        return;
    };
    // The container's status is not yet written by then.
    let request = StopContainerRequest {
        pod: Some(pod.clone()),
        container: Some(container.clone()),
    };
    let mut updates = Updates::new(hub.profile);
    for plugin in hub.plugins() {
        if !plugin.subscribed_to(Event::StopContainer) {
            continue;
        }
        let start = Instant::now();
        let answer = plugin
            .call::<StopContainerResponse>(hub, plugin::STOP_CONTAINER, &request)
            .await;
        let asked_for = answer
            .as_ref()
            .map(|it| it.update.clone())
            .unwrap_or_default();
        let heard = heard_by(
            hub,
            &plugin,
            Event::StopContainer,
            start,
            answer,
            &mut turn.told,
        );
        // Either ends the telling, and is only logged.
        if matches!(heard, Heard::Error(_))
            || updates.add(&plugin.info.to_string(), &asked_for).is_err()
        {
            updates = Updates::new(hub.profile);
            break;
        }
    }
    for update in updates.all() {
        turn.updates
            .push(hub.running(|running| running.update(update)));
    }
    container.state = ContainerState::ContainerStopped.into();
    container.pid = 0;
    if hub.profile.requests.container_times {
        container.finished_at = now();
        container.exit_code = exit_code;
    }
    hub.running(|running| {
        if let Some(alive) = running.containers.get_mut(id) {
            alive.container = container;
            alive.needs_stopping = false;
        }
    });
}

async fn removed(hub: &Hub, pod: &PodSandbox, id: &str, turn: &mut Turn) {
    stopped(hub, pod, id, KILLED, turn).await;
    let alive = hub.running(|running| running.containers.remove(id));
    if let Some(Alive { container, .. }) = alive {
        // Only logged.
        let news = of_container(Event::RemoveContainer, pod, &container);
        let _ = tell(hub, &news, &mut turn.told).await;
    }
}

pub(super) fn of_container(event: Event, pod: &PodSandbox, container: &Container) -> News {
    News {
        event,
        pod: pod.clone(),
        container: Some(container.clone()),
    }
}

fn of_pod(event: Event, pod: &PodSandbox) -> News {
    News {
        event,
        pod: pod.clone(),
        container: None,
    }
}

/// What is left to tell of a pod whose own container is gone: what was asked for, and not what was made of it.
fn without_spec(pod: PodSandbox) -> PodSandbox {
    let linux = pod.linux.map(|linux| LinuxPodSandbox {
        pod_overhead: linux.pod_overhead,
        pod_resources: linux.pod_resources,
        cgroup_parent: linux.cgroup_parent,
        ..Default::default()
    });
    let mut annotations = pod.annotations;
    annotations.retain(|key, _| !key.starts_with("io.kubernetes.cri."));
    PodSandbox {
        annotations,
        linux,
        pid: 0,
        ..pod
    }
}

fn bit(event: Event) -> i32 {
    1 << (event as i32 - 1)
}

fn update_of(id: &str, resources: LinuxResources) -> ContainerUpdate {
    ContainerUpdate {
        container_id: id.to_owned(),
        linux: Some(nri_proto::api::LinuxContainerUpdate {
            resources: Some(resources),
        }),
        ignore_failure: false,
    }
}

/// CRI has no way to leave one of these out.
fn as_cri_has_them(resources: LinuxResources) -> LinuxResources {
    let cpu = resources.cpu.unwrap_or_default();
    let memory = resources.memory.unwrap_or_default();
    let unsigned = |value: Option<OptionalUInt64>| Some(value.unwrap_or_default());
    let signed = |value: Option<OptionalInt64>| Some(value.unwrap_or_default());
    LinuxResources {
        cpu: Some(LinuxCpu {
            shares: unsigned(cpu.shares),
            quota: signed(cpu.quota),
            period: unsigned(cpu.period),
            ..cpu
        }),
        memory: Some(LinuxMemory {
            limit: signed(memory.limit),
            ..memory
        }),
        ..resources
    }
}

/// Nanoseconds since the epoch.
pub(super) fn now() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

impl Hub {
    fn pod(&self, id: &str) -> Result<PodSandbox, NotThere> {
        self.running(|running| running.pods.get(id).cloned())
            .ok_or_else(|| NotThere {
                what: "pod",
                id: id.to_owned(),
            })
    }

    fn container(&self, id: &str) -> Result<(PodSandbox, Container), NotThere> {
        let alive = self.running(|running| {
            let Alive { container, .. } = running.containers.get(id)?;
            let pod = running.pods.get(&container.pod_sandbox_id)?;
            Some((pod.clone(), container.clone()))
        });
        alive.ok_or_else(|| NotThere {
            what: "container",
            id: id.to_owned(),
        })
    }

    fn containers_of(&self, pod: &str) -> Vec<String> {
        self.running(|running| {
            let alive = running.containers.values();
            let of_pod = alive.filter(|it| it.container.pod_sandbox_id == pod);
            of_pod.map(|it| it.container.id.clone()).collect()
        })
    }

    fn set_container(&self, container: &Container) {
        self.running(|running| {
            if let Some(alive) = running.containers.get_mut(&container.id) {
                alive.container = container.clone();
                alive.needs_stopping = true;
            }
        });
    }
}
