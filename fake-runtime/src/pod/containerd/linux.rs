//! What is Linux's own about a pod and a container.

use nri_proto::api::{
    LinuxContainer, LinuxCpu, LinuxDevice, LinuxDeviceCgroup, LinuxMemory, LinuxNamespace,
    LinuxPodSandbox, LinuxResources, OptionalFileMode, OptionalInt, OptionalInt64, OptionalUInt32,
    OptionalUInt64, SecurityProfile, security_profile::ProfileType,
};

use super::paths::RUN;
use crate::pod::cri::{Container, Device, PidNamespace, Resources, Sandbox};
use crate::pod::manifest::{SeccompProfile, SeccompType};
use crate::pod::node::Node;
use crate::profile::Profile;

pub(in crate::pod) fn pod(sandbox: &Sandbox, id: &str) -> LinuxPodSandbox {
    let namespaces = sandbox.namespaces;
    let own = [
        ("pid", namespaces.pid != PidNamespace::Node),
        ("ipc", !namespaces.host_ipc),
        ("uts", !namespaces.host_network),
        ("mount", true),
    ];
    let mut own: Vec<_> = own
        .iter()
        .filter(|(_, own)| *own)
        .map(|(kind, _)| namespace(kind, ""))
        .collect();
    if !namespaces.host_network {
        own.push(namespace(
            "network",
            &format!("/var/run/netns/cni-{}", &id[..8]),
        ));
    }
    if namespaces.own_users {
        let path = format!("{RUN}/sandboxes/{id}/pinned-namespaces/user");
        own.push(namespace("user", &path));
    }
    LinuxPodSandbox {
        pod_overhead: sandbox
            .resources
            .as_ref()
            .map(|_| pod_resources(sandbox.overhead.as_ref().unwrap_or(&Resources::default()))),
        pod_resources: sandbox.resources.as_ref().map(pod_resources),
        cgroup_parent: sandbox.cgroup_parent.clone(),
        cgroups_path: cgroups_path(sandbox, id),
        namespaces: own,
        // Of the pause container, in every pod the same.
        resources: Some(LinuxResources {
            cpu: Some(LinuxCpu {
                shares: Some(OptionalUInt64 { value: 2 }),
                ..Default::default()
            }),
            devices: vec![deny_all()],
            ..Default::default()
        }),
    }
}

pub(in crate::pod) fn container(
    profile: &Profile,
    node: &Node,
    sandbox: &Sandbox,
    container: &Container,
    id: &str,
) -> LinuxContainer {
    let resources = &container.resources;
    let least = node.least_oom_score.unwrap_or(i64::MIN);
    let oom_score_adj = resources.oom_score_adj.map(|score| OptionalInt {
        value: score.max(least),
    });
    let seccomp = container.seccomp.as_ref();
    let seccomp = seccomp.filter(|_| profile.requests.seccomp_profile);
    let pid = node.sandbox_pid;
    let of_pod = |kind: &str, file: &str| namespace(kind, &format!("/proc/{pid}/ns/{file}"));
    let own_processes =
        sandbox.namespaces.pid == PidNamespace::Container && container.sees_processes_of.is_none();
    let mut namespaces = vec![
        if own_processes {
            namespace("pid", "")
        } else {
            of_pod("pid", "pid")
        },
        of_pod("ipc", "ipc"),
        of_pod("uts", "uts"),
        namespace("mount", ""),
        of_pod("network", "net"),
    ];
    if sandbox.namespaces.own_users {
        namespaces.push(of_pod("user", "user"));
    }
    let of_node = node.devices.iter();
    let of_node = of_node.filter(|_| container.privileged);
    LinuxContainer {
        namespaces,
        devices: container
            .devices
            .iter()
            .chain(of_node)
            .map(device)
            .collect(),
        resources: Some(LinuxResources {
            memory: Some(memory(resources)),
            cpu: Some(cpu(resources)),
            devices: device_rules(container),
            ..Default::default()
        }),
        oom_score_adj,
        cgroups_path: cgroups_path(sandbox, id),
        seccomp_profile: seccomp.map(seccomp_profile),
        ..Default::default()
    }
}

/// Deny all, then what is allowed; of a privileged container just one rule, without type and numbers.
fn device_rules(container: &Container) -> Vec<LinuxDeviceCgroup> {
    if container.privileged {
        return vec![LinuxDeviceCgroup {
            allow: true,
            ..deny_all()
        }];
    }
    let mut rules = vec![deny_all()];
    rules.extend(container.devices.iter().map(|device| LinuxDeviceCgroup {
        allow: true,
        r#type: device.kind.clone(),
        major: Some(OptionalInt64 {
            value: device.major,
        }),
        minor: Some(OptionalInt64 {
            value: device.minor,
        }),
        access: device.permissions.clone(),
    }));
    rules
}

fn deny_all() -> LinuxDeviceCgroup {
    LinuxDeviceCgroup {
        access: "rwm".to_owned(),
        ..Default::default()
    }
}

fn device(device: &Device) -> LinuxDevice {
    LinuxDevice {
        path: device.path.clone(),
        r#type: device.kind.clone(),
        major: device.major,
        minor: device.minor,
        file_mode: Some(OptionalFileMode { value: device.mode }),
        uid: Some(OptionalUInt32 { value: device.uid }),
        gid: Some(OptionalUInt32 { value: device.gid }),
    }
}

pub(in crate::pod) fn namespace(kind: &str, path: &str) -> LinuxNamespace {
    LinuxNamespace {
        r#type: kind.to_owned(),
        path: path.to_owned(),
    }
}

/// Below the cgroup that the kubelet named, or below containerd's own. systemd is told the slice and the unit.
fn cgroups_path(sandbox: &Sandbox, id: &str) -> String {
    match sandbox.cgroup_parent.as_str() {
        "" => format!("/k8s.io/{id}"),
        parent if parent.ends_with(".slice") => {
            let slice = parent.rsplit('/').next().unwrap_or_default();
            format!("{slice}:cri-containerd:{id}")
        }
        parent => format!("{parent}/{id}"),
    }
}

fn memory(resources: &Resources) -> LinuxMemory {
    let limit = positive(resources.memory_limit);
    LinuxMemory {
        limit,
        swap: limit,
        ..Default::default()
    }
}

fn cpu(resources: &Resources) -> LinuxCpu {
    let some = |value: u64| (value != 0).then_some(OptionalUInt64 { value });
    LinuxCpu {
        shares: some(resources.cpu_shares),
        quota: positive(resources.cpu_quota),
        period: some(resources.cpu_period),
        cpus: resources.cpus.clone(),
        mems: resources.mems.clone(),
        ..Default::default()
    }
}

fn positive(value: i64) -> Option<OptionalInt64> {
    (value > 0).then_some(OptionalInt64 { value })
}

/// A pod's sum: here what is not set is 0, and set.
fn pod_resources(resources: &Resources) -> LinuxResources {
    let Resources {
        cpu_shares,
        cpu_quota,
        cpu_period,
        memory_limit,
        ..
    } = *resources;
    LinuxResources {
        cpu: Some(LinuxCpu {
            shares: Some(OptionalUInt64 { value: cpu_shares }),
            quota: Some(OptionalInt64 { value: cpu_quota }),
            period: Some(OptionalUInt64 { value: cpu_period }),
            ..Default::default()
        }),
        memory: Some(LinuxMemory {
            limit: Some(OptionalInt64 {
                value: memory_limit,
            }),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn seccomp_profile(profile: &SeccompProfile) -> SecurityProfile {
    let kind = match profile.kind {
        SeccompType::Unconfined => ProfileType::Unconfined,
        SeccompType::RuntimeDefault => ProfileType::RuntimeDefault,
        SeccompType::Localhost => ProfileType::Localhost,
    };
    SecurityProfile {
        profile_type: kind.into(),
        localhost_ref: profile.localhost_profile.clone(),
    }
}
