//! `linux.resources` of an adjustment.
//!
//! Much of it is claimed and shown to later plugins although the spec never gets it: everything about
//! memory but the limit, and huge pages.

use nri_proto::api::{Field, LinuxCpu, LinuxMemory, LinuxResources};

use super::Merge;
use crate::create_error::Reason;

impl Merge<'_> {
    pub(super) fn resources(&mut self, theirs: &LinuxResources) -> Result<(), Reason> {
        let honoured = self.claims.profile.adjust;
        let theirs = &LinuxResources {
            devices: if honoured.device_rules {
                theirs.devices.clone()
            } else {
                Vec::new()
            },
            pids: theirs.pids.filter(|_| honoured.pids),
            ..theirs.clone()
        };
        self.claim_resources(theirs)?;
        add(&mut self.combined.resources, theirs);
        let seen = self.container.linux.get_or_insert_default();
        add(seen.resources.get_or_insert_default(), theirs);
        Ok(())
    }

    /// In containerd's order, which decides what a conflict is about. Device rules have no owner.
    fn claim_resources(&mut self, theirs: &LinuxResources) -> Result<(), Reason> {
        let claims = &mut self.claims;
        let memory = theirs.memory.unwrap_or_default();
        let cpu = theirs.cpu.clone().unwrap_or_default();
        for (field, set) in [
            (Field::MemLimit, memory.limit.is_some()),
            (Field::MemReservation, memory.reservation.is_some()),
            (Field::MemSwapLimit, memory.swap.is_some()),
            (Field::MemKernelLimit, memory.kernel.is_some()),
            (Field::MemTcpLimit, memory.kernel_tcp.is_some()),
            (Field::MemSwappiness, memory.swappiness.is_some()),
            (
                Field::MemDisableOomKiller,
                memory.disable_oom_killer.is_some(),
            ),
            (Field::MemUseHierarchy, memory.use_hierarchy.is_some()),
            (Field::CpuShares, cpu.shares.is_some()),
            (Field::CpuQuota, cpu.quota.is_some()),
            (Field::CpuPeriod, cpu.period.is_some()),
            (Field::CpuRealtimeRuntime, cpu.realtime_runtime.is_some()),
            (Field::CpuRealtimePeriod, cpu.realtime_period.is_some()),
            (Field::CpuSetCpUs, !cpu.cpus.is_empty()),
            (Field::CpuSetMems, !cpu.mems.is_empty()),
        ] {
            if set {
                claims.take(field)?;
            }
        }
        for limit in &theirs.hugepage_limits {
            claims.take_key(Field::HugepageLimits, &limit.page_size)?;
        }
        for key in theirs.unified.keys() {
            claims.take_key(Field::CgroupsUnified, key)?;
        }
        for (field, set) in [
            (Field::BlockioClass, theirs.blockio_class.is_some()),
            (Field::RdtClass, theirs.rdt_class.is_some()),
            (Field::PidsLimit, theirs.pids.is_some()),
        ] {
            if set {
                claims.take(field)?;
            }
        }
        Ok(())
    }
}

/// Adds what is set, be it to the combined adjustment or to what the next plugin sees.
fn add(to: &mut LinuxResources, theirs: &LinuxResources) {
    if let Some(theirs) = theirs.memory
        && theirs != LinuxMemory::default()
    {
        let to = to.memory.get_or_insert_default();
        *to = LinuxMemory {
            limit: theirs.limit.or(to.limit),
            reservation: theirs.reservation.or(to.reservation),
            swap: theirs.swap.or(to.swap),
            kernel: theirs.kernel.or(to.kernel),
            kernel_tcp: theirs.kernel_tcp.or(to.kernel_tcp),
            swappiness: theirs.swappiness.or(to.swappiness),
            disable_oom_killer: theirs.disable_oom_killer.or(to.disable_oom_killer),
            use_hierarchy: theirs.use_hierarchy.or(to.use_hierarchy),
        };
    }
    if let Some(theirs) = &theirs.cpu
        && *theirs != LinuxCpu::default()
    {
        let to = to.cpu.get_or_insert_default();
        *to = LinuxCpu {
            shares: theirs.shares.or(to.shares),
            quota: theirs.quota.or(to.quota),
            period: theirs.period.or(to.period),
            realtime_runtime: theirs.realtime_runtime.or(to.realtime_runtime),
            realtime_period: theirs.realtime_period.or(to.realtime_period),
            cpus: unless_empty(&theirs.cpus, &to.cpus),
            mems: unless_empty(&theirs.mems, &to.mems),
        };
    }
    to.hugepage_limits
        .extend_from_slice(&theirs.hugepage_limits);
    to.devices.extend_from_slice(&theirs.devices);
    to.unified.extend(theirs.unified.clone());
    if theirs.blockio_class.is_some() {
        to.blockio_class.clone_from(&theirs.blockio_class);
    }
    if theirs.rdt_class.is_some() {
        to.rdt_class.clone_from(&theirs.rdt_class);
    }
    to.pids = theirs.pids.or(to.pids);
}

fn unless_empty(theirs: &str, before: &str) -> String {
    let text = if theirs.is_empty() { before } else { theirs };
    text.to_owned()
}
