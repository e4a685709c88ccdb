//! `linux.resources` of an adjustment.
//!
//! Much of it is claimed and shown to later plugins although the spec never gets it: everything about
//! memory but the limit, and huge pages.

use nri_proto::api::{Field, LinuxCpu, LinuxMemory, LinuxResources};

use super::Merge;
use super::owners::Claims;
use crate::create::CreateError;

impl Merge<'_> {
    pub(super) fn resources(&mut self, theirs: &LinuxResources) -> Result<(), CreateError> {
        let honoured = self.claims.profile.adjust;
        let linux = self.container.linux.get_or_insert_default();
        let seen = linux.resources.get_or_insert_default();
        let combined = &mut self.combined.resources;
        let claims = &mut self.claims;

        if let Some(theirs) = theirs
            .memory
            .filter(|memory| *memory != LinuxMemory::default())
        {
            let combined = combined.memory.get_or_insert_default();
            memory(
                claims,
                &theirs,
                [combined, seen.memory.get_or_insert_default()],
            )?;
        }
        if let Some(theirs) = theirs
            .cpu
            .as_ref()
            .filter(|cpu| **cpu != LinuxCpu::default())
        {
            let combined = combined.cpu.get_or_insert_default();
            cpu(claims, theirs, [combined, seen.cpu.get_or_insert_default()])?;
        }
        for limit in &theirs.hugepage_limits {
            claims.take_key(Field::HugepageLimits, &limit.page_size)?;
            combined.hugepage_limits.push(limit.clone());
            seen.hugepage_limits.push(limit.clone());
        }
        if honoured.device_rules {
            combined.devices.extend_from_slice(&theirs.devices);
            seen.devices.extend_from_slice(&theirs.devices);
        }
        for (key, value) in &theirs.unified {
            claims.take_key(Field::CgroupsUnified, key)?;
            combined.unified.insert(key.clone(), value.clone());
            seen.unified.insert(key.clone(), value.clone());
        }
        set(
            claims,
            Field::BlockioClass,
            &theirs.blockio_class,
            [&mut combined.blockio_class, &mut seen.blockio_class],
        )?;
        set(
            claims,
            Field::RdtClass,
            &theirs.rdt_class,
            [&mut combined.rdt_class, &mut seen.rdt_class],
        )?;
        if honoured.pids {
            set(
                claims,
                Field::PidsLimit,
                &theirs.pids,
                [&mut combined.pids, &mut seen.pids],
            )?;
        }
        Ok(())
    }
}

fn memory(
    claims: &mut Claims<'_>,
    theirs: &LinuxMemory,
    [a, b]: [&mut LinuxMemory; 2],
) -> Result<(), CreateError> {
    set(
        claims,
        Field::MemLimit,
        &theirs.limit,
        [&mut a.limit, &mut b.limit],
    )?;
    set(
        claims,
        Field::MemReservation,
        &theirs.reservation,
        [&mut a.reservation, &mut b.reservation],
    )?;
    set(
        claims,
        Field::MemSwapLimit,
        &theirs.swap,
        [&mut a.swap, &mut b.swap],
    )?;
    set(
        claims,
        Field::MemKernelLimit,
        &theirs.kernel,
        [&mut a.kernel, &mut b.kernel],
    )?;
    set(
        claims,
        Field::MemTcpLimit,
        &theirs.kernel_tcp,
        [&mut a.kernel_tcp, &mut b.kernel_tcp],
    )?;
    set(
        claims,
        Field::MemSwappiness,
        &theirs.swappiness,
        [&mut a.swappiness, &mut b.swappiness],
    )?;
    set(
        claims,
        Field::MemDisableOomKiller,
        &theirs.disable_oom_killer,
        [&mut a.disable_oom_killer, &mut b.disable_oom_killer],
    )?;
    set(
        claims,
        Field::MemUseHierarchy,
        &theirs.use_hierarchy,
        [&mut a.use_hierarchy, &mut b.use_hierarchy],
    )
}

fn cpu(
    claims: &mut Claims<'_>,
    theirs: &LinuxCpu,
    [a, b]: [&mut LinuxCpu; 2],
) -> Result<(), CreateError> {
    set(
        claims,
        Field::CpuShares,
        &theirs.shares,
        [&mut a.shares, &mut b.shares],
    )?;
    set(
        claims,
        Field::CpuQuota,
        &theirs.quota,
        [&mut a.quota, &mut b.quota],
    )?;
    set(
        claims,
        Field::CpuPeriod,
        &theirs.period,
        [&mut a.period, &mut b.period],
    )?;
    set(
        claims,
        Field::CpuRealtimeRuntime,
        &theirs.realtime_runtime,
        [&mut a.realtime_runtime, &mut b.realtime_runtime],
    )?;
    set(
        claims,
        Field::CpuRealtimePeriod,
        &theirs.realtime_period,
        [&mut a.realtime_period, &mut b.realtime_period],
    )?;
    pin(
        claims,
        Field::CpuSetCpUs,
        &theirs.cpus,
        [&mut a.cpus, &mut b.cpus],
    )?;
    pin(
        claims,
        Field::CpuSetMems,
        &theirs.mems,
        [&mut a.mems, &mut b.mems],
    )
}

/// Sets a field that is present in both, the combined adjustment and what the next plugin sees.
fn set<T: Clone>(
    claims: &mut Claims<'_>,
    field: Field,
    theirs: &Option<T>,
    both: [&mut Option<T>; 2],
) -> Result<(), CreateError> {
    if theirs.is_some() {
        claims.take(field)?;
        for to in both {
            to.clone_from(theirs);
        }
    }
    Ok(())
}

/// The same for a text, of which the empty one says nothing.
fn pin(
    claims: &mut Claims<'_>,
    field: Field,
    theirs: &str,
    both: [&mut String; 2],
) -> Result<(), CreateError> {
    if !theirs.is_empty() {
        claims.take(field)?;
        for to in both {
            theirs.clone_into(to);
        }
    }
    Ok(())
}
