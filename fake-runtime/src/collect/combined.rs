//! The combined adjustment as one message, as validators get it.

use nri_proto::api::{CdiDevice, ContainerAdjustment, LinuxContainerAdjustment, OptionalInt};

use super::Combined;

impl From<&Combined> for ContainerAdjustment {
    fn from(combined: &Combined) -> Self {
        let text = |map: &indexmap::IndexMap<String, String>| {
            map.iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        };
        let linux = LinuxContainerAdjustment {
            devices: combined.devices.clone(),
            resources: Some(combined.resources.clone()),
            cgroups_path: combined.cgroups_path.clone(),
            oom_score_adj: combined.oom_score_adj.map(|value| OptionalInt { value }),
            io_priority: combined.io_priority,
            seccomp_policy: combined.seccomp_policy.clone(),
            namespaces: combined.namespaces.clone(),
            sysctl: text(&combined.sysctl),
            net_devices: combined.net_devices.clone().into_iter().collect(),
            scheduler: combined.scheduler.clone(),
            rdt: Some(combined.rdt.clone()),
            memory_policy: combined.memory_policy.clone(),
        };
        Self {
            annotations: text(&combined.annotations),
            mounts: combined.mounts.clone(),
            env: combined.env.clone(),
            hooks: Some(combined.hooks.clone()),
            linux: Some(linux),
            rlimits: combined.rlimits.clone(),
            cdi_devices: combined
                .cdi_devices
                .iter()
                .map(|name| CdiDevice { name: name.clone() })
                .collect(),
            args: combined.args.clone(),
        }
    }
}
