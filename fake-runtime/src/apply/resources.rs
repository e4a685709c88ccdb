//! `linux.resources`, `linux.intelRdt` and `process.rlimits`.

use nri_proto::api::{
    HugepageLimit, LinuxCpu, LinuxDeviceCgroup, LinuxRdt, LinuxResources, PosixRlimit,
};

use crate::collect::Combined;
use crate::create_error::Reason;
use crate::oci::{
    DeviceRule, Linux, LinuxHugepageLimit, LinuxIntelRdt, LinuxMemory, Pids, Process, Resources,
    Rlimit,
};
use crate::profile::Adjust;

/// Sets limits, then block I/O class and RDT.
pub(super) fn apply(
    honoured: Adjust,
    linux: &mut Linux,
    adjustment: &Combined,
) -> Result<(), Reason> {
    let theirs = &adjustment.resources;
    let ours = linux.resources.get_or_insert_default();
    if let Some(theirs) = &theirs.cpu {
        cpu(ours, theirs);
    }
    if let Some(limit) = theirs.memory.and_then(|memory| memory.limit)
        && limit.value != 0
    {
        // Of all that can be said about memory only the limit arrives, and swap follows it.
        let memory = ours.memory.get_or_insert_default();
        memory
            .set_limit(Some(limit.value))
            .set_swap(Some(limit.value));
    }
    ours.unified
        .extend(theirs.unified.iter().map(|(k, v)| (k.clone(), v.clone())));
    if let Some(pids) = theirs.pids {
        let ours: &mut Pids = ours.pids.get_or_insert_default();
        if pids.limit >= 0 || honoured.negative_pids_limit {
            ours.limit = Some(pids.limit);
        }
    }
    ours.devices.extend(theirs.devices.iter().map(rule));
    hugepages(honoured, ours, theirs);
    if let Some(least) = honoured.least_memory
        && let Some(limit) = ours.memory.as_ref().and_then(LinuxMemory::limit)
        && limit < least
    {
        return Err(Reason::TooLittleMemory { limit, least });
    }

    if let Some(class) = &theirs.blockio_class
        && !class.value.is_empty()
        && !honoured.unknown_blockio_class
    {
        return Err(Reason::BlockIoClass(class.value.clone()));
    }
    if let Some(class) = &theirs.rdt_class {
        linux.intel_rdt = (!class.value.is_empty()).then(|| {
            let mut rdt = LinuxIntelRdt::default();
            rdt.set_clos_id(Some(class.value.clone()));
            rdt
        });
    }
    rdt(&mut linux.intel_rdt, &adjustment.rdt);
    Ok(())
}

pub(super) fn cpu(ours: &mut Resources, theirs: &LinuxCpu) {
    let ours = ours.cpu.get_or_insert_default();
    if let Some(shares) = theirs.shares {
        ours.set_shares(Some(shares.value));
    }
    if let Some(quota) = theirs.quota {
        ours.set_quota(Some(quota.value));
    }
    if let Some(period) = theirs.period {
        ours.set_period(Some(period.value));
    }
    if let Some(runtime) = theirs.realtime_runtime {
        ours.set_realtime_runtime(Some(runtime.value));
    }
    if let Some(period) = theirs.realtime_period {
        ours.set_realtime_period(Some(period.value));
    }
    if !theirs.cpus.is_empty() {
        ours.set_cpus(Some(theirs.cpus.clone()));
    }
    if !theirs.mems.is_empty() {
        ours.set_mems(Some(theirs.mems.clone()));
    }
}

pub(super) fn rule(theirs: &LinuxDeviceCgroup) -> DeviceRule {
    DeviceRule {
        allow: theirs.allow,
        kind: theirs.r#type.clone(),
        major: theirs.major.map(|major| major.value),
        minor: theirs.minor.map(|minor| minor.value),
        access: theirs.access.clone(),
    }
}

/// Where containerd's hugetlb controller is off, which is its default, the CRI's limits go too.
fn hugepages(honoured: Adjust, ours: &mut Resources, theirs: &LinuxResources) {
    if !honoured.hugepage_limits {
        ours.hugepage_limits.clear();
        return;
    }
    for theirs in &theirs.hugepage_limits {
        let limit = hugepage_limit(theirs);
        let same = |ours: &&mut LinuxHugepageLimit| ours.page_size() == limit.page_size();
        match ours.hugepage_limits.iter_mut().find(same) {
            Some(ours) => *ours = limit,
            None => ours.hugepage_limits.push(limit),
        }
    }
}

pub(super) fn hugepage_limit(theirs: &HugepageLimit) -> LinuxHugepageLimit {
    let mut ours = LinuxHugepageLimit::default();
    ours.set_page_size(theirs.page_size.clone())
        // Bytes: nobody has more than the crate's type can count.
        .set_limit(i64::try_from(theirs.limit).unwrap_or(i64::MAX));
    ours
}

/// Field by field: one that is present but empty is removed.
fn rdt(ours: &mut Option<LinuxIntelRdt>, theirs: &LinuxRdt) {
    if theirs.remove {
        *ours = None;
    }
    if let Some(id) = &theirs.clos_id {
        let id = Some(id.value.clone()).filter(|id| !id.is_empty());
        ours.get_or_insert_default().set_clos_id(id);
    }
    if let Some(schemata) = &theirs.schemata {
        let schemata = super::unless_empty(&schemata.value);
        ours.get_or_insert_default().set_schemata(schemata);
    }
    if let Some(enable) = theirs.enable_monitoring {
        let enable = enable.value.then_some(true);
        ours.get_or_insert_default().set_enable_monitoring(enable);
    }
}

/// Appends limits, also those that the spec has already.
pub(super) fn rlimits(process: &mut Process, theirs: &[PosixRlimit]) {
    process.rlimits.extend(theirs.iter().map(|limit| Rlimit {
        kind: limit.r#type.clone(),
        hard: limit.hard,
        soft: limit.soft,
    }));
}
