//! What a version of the runtime passes over in an adjustment, in silence.

use nri_proto::api::ContainerAdjustment;

use crate::collect::removal;
use crate::profile::{Fate, Profile};

/// The fields that are set and that this version does not honour, by their names in NRI's protobuf.
#[must_use]
pub fn ignored(profile: &Profile, adjustment: &ContainerAdjustment) -> Vec<&'static str> {
    let honoured = profile.adjust;
    let linux = adjustment.linux.clone().unwrap_or_default();
    let resources = linux.resources.unwrap_or_default();
    let is_removal = |mount: &nri_proto::api::Mount| removal(&mount.destination).is_some();
    [
        ("args", honoured.args, !adjustment.args.is_empty()),
        (
            "removals in mounts",
            honoured.mount_removal,
            adjustment.mounts.iter().any(is_removal),
        ),
        (
            "CDI_devices",
            honoured.cdi_devices,
            !adjustment.cdi_devices.is_empty(),
        ),
        (
            "linux.oom_score_adj",
            honoured.oom_score_adj,
            linux.oom_score_adj.is_some(),
        ),
        (
            "linux.io_priority",
            honoured.io_priority,
            linux.io_priority.is_some(),
        ),
        (
            "linux.seccomp_policy",
            honoured.seccomp_policy,
            linux.seccomp_policy.is_some(),
        ),
        (
            "linux.namespaces",
            honoured.namespaces,
            !linux.namespaces.is_empty(),
        ),
        (
            "linux.sysctl",
            honoured.sysctl != Fate::Ignored,
            !linux.sysctl.is_empty(),
        ),
        (
            "linux.net_devices",
            honoured.net_devices,
            !linux.net_devices.is_empty(),
        ),
        (
            "linux.scheduler",
            honoured.scheduler,
            linux.scheduler.is_some(),
        ),
        ("linux.rdt", honoured.rdt, linux.rdt.is_some()),
        (
            "linux.memory_policy",
            honoured.memory_policy,
            linux.memory_policy.is_some(),
        ),
        (
            "linux.resources.pids",
            honoured.pids,
            resources.pids.is_some(),
        ),
        (
            "linux.resources.devices",
            honoured.device_rules,
            !resources.devices.is_empty(),
        ),
    ]
    .into_iter()
    .filter(|(_, honoured, set)| *set && !honoured)
    .map(|(field, ..)| field)
    .collect()
}

#[cfg(test)]
mod tests {
    use nri_proto::api::CdiDevice;

    use super::*;

    #[test]
    fn a_version_ignores_what_it_does_not_know() {
        let adjustment = ContainerAdjustment {
            args: vec!["sh".into()],
            cdi_devices: vec![CdiDevice::default()],
            ..Default::default()
        };
        let of = |version: &str| ignored(Profile::find(version).unwrap(), &adjustment);
        assert_eq!(of("1.7"), ["args", "CDI_devices"]);
        assert_eq!(of("2.1"), ["args"]);
        assert!(of("2.3").is_empty());
    }
}
