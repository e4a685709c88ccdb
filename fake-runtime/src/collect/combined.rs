//! The combined adjustment.

use indexmap::IndexMap;
use nri_proto::api::{
    CdiDevice, ContainerAdjustment, Hooks, KeyValue, LinuxContainerAdjustment, LinuxDevice,
    LinuxIoPriority, LinuxMemoryPolicy, LinuxNamespace, LinuxNetDevice, LinuxRdt, LinuxResources,
    LinuxScheduler, LinuxSeccomp, Mount, OptionalInt, PosixRlimit,
};

/// The combined adjustment: what [`apply`](crate::apply::apply) does to the spec, once.
///
/// It has an adjustment's fields, and differs in that its maps keep the order in which plugins filled
/// them. A key with a removal mark and the same key without may both be in one of them, and then the
/// order decides. (containerd uses Go maps there, whose order is random.)
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combined {
    /// To set, or with a mark to remove.
    pub annotations: IndexMap<String, String>,
    /// To set, or with a mark to remove.
    pub mounts: Vec<Mount>,
    /// To set.
    pub env: Vec<KeyValue>,
    /// To replace the command line with, unless empty.
    pub args: Vec<String>,
    /// To append.
    pub hooks: Hooks,
    /// To set.
    pub devices: Vec<LinuxDevice>,
    /// To set; device rules to append.
    pub resources: LinuxResources,
    /// To set, unless empty.
    pub cgroups_path: String,
    /// To set.
    pub oom_score_adj: Option<i64>,
    /// To set; class NONE removes.
    pub io_priority: Option<LinuxIoPriority>,
    /// To replace the profile with.
    pub seccomp_policy: Option<LinuxSeccomp>,
    /// To set, or with a mark to remove.
    pub namespaces: Vec<LinuxNamespace>,
    /// To set, or with a mark to remove.
    pub sysctl: IndexMap<String, String>,
    /// To set, or with a mark to remove.
    pub net_devices: IndexMap<String, LinuxNetDevice>,
    /// To set; policy NONE removes.
    pub scheduler: Option<LinuxScheduler>,
    /// To set field by field, or to remove whole.
    pub rdt: LinuxRdt,
    /// To set.
    pub memory_policy: Option<LinuxMemoryPolicy>,
    /// To append.
    pub rlimits: Vec<PosixRlimit>,
    /// To resolve and inject, in this order.
    pub cdi_devices: Vec<String>,
}

/// The same as one message, as validators get it. The order within maps is lost.
impl From<&Combined> for ContainerAdjustment {
    fn from(combined: &Combined) -> Self {
        let text = |map: &IndexMap<String, String>| {
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

#[cfg(test)]
mod tests {
    use nri_proto::api::CreateContainerRequest;
    use serde_json::json;

    use super::*;
    use crate::collect::{Answer, Collector};

    fn combined(answers: [serde_json::Value; 2]) -> ContainerAdjustment {
        let mut collector = Collector::new(Default::default(), CreateContainerRequest::default());
        for (plugin, answer) in ["10-first", "20-second"].iter().zip(answers) {
            let answer = Answer::Adjust(serde_json::from_value(answer).unwrap());
            collector.answer(plugin, &answer).unwrap();
        }
        ContainerAdjustment::from(&collector.finish())
    }

    #[test]
    fn the_answers_of_all_plugins_are_one_message() {
        let message = combined([
            json!({"env": [{"key": "A"}], "linux": {"cgroups_path": "/c"}, "annotations": {"-a": ""}}),
            json!({"env": [{"key": "B"}], "CDI_devices": [{"name": "v.example/c=d"}]}),
        ]);
        let keys: Vec<_> = message.env.iter().map(|entry| &entry.key).collect();
        assert_eq!(keys, ["A", "B"]);
        assert_eq!(message.linux.unwrap().cgroups_path, "/c");
        assert_eq!(message.cdi_devices[0].name, "v.example/c=d");
        assert_eq!(message.annotations.keys().collect::<Vec<_>>(), ["-a"]);
    }

    #[test]
    fn what_a_later_plugin_replaces_is_gone() {
        let message = combined([
            json!({"env": [{"key": "K", "value": "first"}, {"key": "L", "value": "first"}]}),
            json!({"env": [{"key": "-K"}, {"key": "K", "value": "second"}]}),
        ]);
        let env = message.env.iter();
        let env: Vec<_> = env.map(|e| format!("{}={}", e.key, e.value)).collect();
        assert_eq!(env, ["L=first", "K=second"]);
    }
}
