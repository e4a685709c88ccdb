//! What runs on the node, and changing it as plugins ask.

use std::collections::BTreeMap;

use nri_proto::api::{
    Container, ContainerState, ContainerUpdate, LinuxCpu, LinuxMemory, LinuxResources,
    OptionalInt64, OptionalUInt64, PodSandbox,
};

use super::inventory::Inventory;

/// The pods whose life is played, and their containers, by their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    pub(super) pods: BTreeMap<String, PodSandbox>,
    pub(super) containers: BTreeMap<String, Alive>,
}

/// A container that was created and not removed.
#[derive(Clone, Debug)]
pub(super) struct Alive {
    /// As plugins are told of it.
    pub(super) container: Container,
    /// Whether plugins are still to be told that it stopped.
    pub(super) needs_stopping: bool,
    /// Whether the kernel refuses to change its limits, as a test asked for.
    pub(super) refuses_updates: bool,
}

/// A change of a container that a plugin asked for, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The container's id.
    pub container: String,
    /// What was asked for, of all plugins together.
    pub resources: LinuxResources,
    /// What became of it.
    pub fate: UpdateFate,
}

/// What becomes of a change of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateFate {
    /// The container has it now.
    Applied,
    /// There is no such container, and nobody is told.
    NoSuchContainer,
    /// It failed. Whoever asked without a request is told so, everybody else not.
    Failed,
}

impl std::fmt::Display for UpdateFate {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Applied => "applied",
            Self::NoSuchContainer => "passed over, there is no such container",
            Self::Failed => "failed",
        })
    }
}

impl Running {
    /// What is there from the first.
    pub(super) fn of(inventory: &Inventory) -> Self {
        let alive = |container: &Container| Alive {
            container: container.clone(),
            needs_stopping: container.state != ContainerState::ContainerStopped as i32,
            refuses_updates: false,
        };
        let pods = inventory.pods.iter();
        let containers = inventory.containers.iter();
        Self {
            pods: pods.map(|pod| (pod.id.clone(), pod.clone())).collect(),
            containers: containers.map(|it| (it.id.clone(), alive(it))).collect(),
        }
    }

    /// The containers that a plugin is told of when it registers: those that have not exited.
    pub(super) fn listed(&self) -> impl Iterator<Item = &Container> {
        self.containers
            .values()
            .map(|alive| &alive.container)
            .filter(|it| it.state != ContainerState::ContainerStopped as i32)
    }

    /// Makes a change, as far as CRI has words for it.
    pub(super) fn update(&mut self, update: &ContainerUpdate) -> Updated {
        let linux = update.linux.clone().unwrap_or_default();
        let resources = linux.resources.unwrap_or_default();
        let fate = match self.containers.get_mut(&update.container_id) {
            None => UpdateFate::NoSuchContainer,
            Some(alive) if alive.refuses_updates => UpdateFate::Failed,
            Some(Alive { container, .. }) => {
                let linux = container.linux.get_or_insert_default();
                set(linux.resources.get_or_insert_default(), &cri(&resources));
                UpdateFate::Applied
            }
        };
        Updated {
            container: update.container_id.clone(),
            resources,
            fate,
        }
    }
}

/// What CRI can say of them, where 0 and nothing are the same.
fn cri(resources: &LinuxResources) -> LinuxResources {
    let unsigned = |value: Option<OptionalUInt64>| value.filter(|it| it.value != 0);
    let signed = |value: Option<OptionalInt64>| value.filter(|it| it.value != 0);
    let memory = resources.memory.unwrap_or_default();
    let cpu = resources.cpu.clone().unwrap_or_default();
    LinuxResources {
        memory: Some(LinuxMemory {
            limit: signed(memory.limit),
            // containerd allows no more swap than there was memory.
            swap: signed(memory.limit),
            ..Default::default()
        }),
        cpu: Some(LinuxCpu {
            shares: unsigned(cpu.shares),
            quota: signed(cpu.quota),
            period: unsigned(cpu.period),
            cpus: cpu.cpus,
            mems: cpu.mems,
            ..Default::default()
        }),
        hugepage_limits: resources.hugepage_limits.clone(),
        unified: resources.unified.clone(),
        ..Default::default()
    }
}

/// Sets what is set in `from`.
pub(super) fn set(resources: &mut LinuxResources, from: &LinuxResources) {
    fn or<T: Clone>(to: &mut Option<T>, from: &Option<T>) {
        if from.is_some() {
            to.clone_from(from);
        }
    }
    if let Some(theirs) = &from.memory {
        let ours = resources.memory.get_or_insert_default();
        or(&mut ours.limit, &theirs.limit);
        or(&mut ours.reservation, &theirs.reservation);
        or(&mut ours.swap, &theirs.swap);
        or(&mut ours.kernel, &theirs.kernel);
        or(&mut ours.kernel_tcp, &theirs.kernel_tcp);
        or(&mut ours.swappiness, &theirs.swappiness);
        or(&mut ours.disable_oom_killer, &theirs.disable_oom_killer);
        or(&mut ours.use_hierarchy, &theirs.use_hierarchy);
    }
    if let Some(theirs) = &from.cpu {
        let ours = resources.cpu.get_or_insert_default();
        or(&mut ours.shares, &theirs.shares);
        or(&mut ours.quota, &theirs.quota);
        or(&mut ours.period, &theirs.period);
        or(&mut ours.realtime_runtime, &theirs.realtime_runtime);
        or(&mut ours.realtime_period, &theirs.realtime_period);
        for (ours, theirs) in [
            (&mut ours.cpus, &theirs.cpus),
            (&mut ours.mems, &theirs.mems),
        ] {
            if !theirs.is_empty() {
                ours.clone_from(theirs);
            }
        }
    }
    resources
        .hugepage_limits
        .extend(from.hugepage_limits.iter().cloned());
    resources.unified.extend(from.unified.clone());
    or(&mut resources.blockio_class, &from.blockio_class);
    or(&mut resources.rdt_class, &from.rdt_class);
    or(&mut resources.pids, &from.pids);
}
