//! The spec of a container of which only NRI's message is known.

use nri_proto::api;
use serde_json::{Map, Value, json};

use super::{devices, isolation, mounts, resources};
use crate::oci::{Linux, LinuxMemory, Pids, Process, Resources, Spec, User};
use crate::profile::Profile;

impl Spec {
    /// The spec of `container`, as far as the message tells. What containerd does not put into a request (root file
    /// system, working directory, capabilities) is left out, but for what runc insists on; so is a namespace of a
    /// type that `profile` does not know.
    #[must_use]
    pub fn of(container: &api::Container, profile: &Profile) -> Self {
        let mut spec = Self {
            process: process(container),
            mounts: container.mounts.iter().map(mounts::oci_mount).collect(),
            hooks: Default::default(),
            annotations: container.annotations.clone(),
            linux: linux(&container.linux.clone().unwrap_or_default(), profile),
            rest: object(
                json!({ "ociVersion": profile.oci_version, "root": { "path": "rootfs" } }),
            ),
        };
        if let Some(hooks) = &container.hooks {
            super::hooks(&mut spec, hooks);
        }
        spec
    }
}

fn process(container: &api::Container) -> Process {
    let linux = container.linux.as_ref();
    let mut process = Process {
        user: container.user.as_ref().map(user).unwrap_or_default(),
        args: container.args.clone(),
        env: container.env.clone(),
        rlimits: Vec::new(),
        oom_score_adj: linux
            .and_then(|linux| linux.oom_score_adj)
            .map(|adj| adj.value),
        io_priority: None,
        scheduler: None,
        rest: object(json!({ "cwd": "/" })),
    };
    resources::rlimits(&mut process, &container.rlimits);
    process
}

fn user(theirs: &api::User) -> User {
    let mut user = User::default();
    user.set_uid(theirs.uid).set_gid(theirs.gid);
    if !theirs.additional_gids.is_empty() {
        user.set_additional_gids(Some(theirs.additional_gids.clone()));
    }
    user
}

fn linux(theirs: &api::LinuxContainer, profile: &Profile) -> Linux {
    let mut namespaces = Vec::new();
    for namespace in &theirs.namespaces {
        let known = profile.adjust.time_namespace;
        // Left out where it is not known.
        let _ = isolation::namespaces(known, &mut namespaces, std::slice::from_ref(namespace));
    }
    Linux {
        devices: theirs.devices.iter().map(devices::oci_device).collect(),
        // containerd writes some for every container.
        resources: Some(theirs.resources.as_ref().map(limits).unwrap_or_default()),
        cgroups_path: theirs.cgroups_path.clone(),
        namespaces,
        sysctl: theirs.sysctl.clone(),
        ..Linux::default()
    }
}

fn limits(theirs: &api::LinuxResources) -> Resources {
    let mut ours = Resources {
        devices: theirs.devices.iter().map(resources::rule).collect(),
        memory: theirs.memory.as_ref().map(memory),
        cpu: theirs.cpu.as_ref().map(|_| Default::default()),
        pids: theirs.pids.map(|pids| Pids {
            limit: Some(pids.limit),
        }),
        hugepage_limits: theirs
            .hugepage_limits
            .iter()
            .map(resources::hugepage_limit)
            .collect(),
        unified: theirs.unified.clone(),
        rest: Map::new(),
    };
    if let Some(cpu) = &theirs.cpu {
        resources::cpu(&mut ours, cpu);
    }
    ours
}

fn memory(theirs: &api::LinuxMemory) -> LinuxMemory {
    let mut ours = LinuxMemory::default();
    ours.set_limit(theirs.limit.map(|it| it.value))
        .set_reservation(theirs.reservation.map(|it| it.value))
        .set_swap(theirs.swap.map(|it| it.value));
    ours
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
