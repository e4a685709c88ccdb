//! `linux` of an adjustment, but for its resources.

use std::collections::BTreeMap;

use nri_proto::api::{
    Field, LinuxContainerAdjustment, LinuxDevice, LinuxNamespace, LinuxNetDevice, LinuxRdt,
};

use super::keyed::{Entries, merge_map};
use super::{Merge, removal};
use crate::create_error::Reason;
use crate::profile::Fate;

impl Merge<'_> {
    pub(super) fn linux(&mut self, theirs: &LinuxContainerAdjustment) -> Result<(), Reason> {
        let honoured = self.claims.profile.adjust;
        self.devices(&theirs.devices)?;
        self.resources(&theirs.resources.clone().unwrap_or_default())?;
        if !theirs.cgroups_path.is_empty() {
            self.claims.take(Field::CgroupsPath)?;
            self.combined.cgroups_path.clone_from(&theirs.cgroups_path);
            let seen = self.container.linux.get_or_insert_default();
            seen.cgroups_path.clone_from(&theirs.cgroups_path);
        }
        if honoured.oom_score_adj
            && let Some(score) = theirs.oom_score_adj
        {
            self.claims.take(Field::OomScoreAdj)?;
            self.combined.oom_score_adj = Some(score.value);
            self.container.linux.get_or_insert_default().oom_score_adj = Some(score);
        }
        if honoured.io_priority
            && let Some(priority) = theirs.io_priority
        {
            self.claims.take(Field::IoPriority)?;
            self.combined.io_priority = Some(priority);
            self.container.linux.get_or_insert_default().io_priority = Some(priority);
        }
        if honoured.seccomp_policy
            && let Some(policy) = &theirs.seccomp_policy
        {
            self.claims.take(Field::SeccompPolicy)?;
            self.combined.seccomp_policy = Some(policy.clone());
            self.container.linux.get_or_insert_default().seccomp_policy = Some(policy.clone());
        }
        if honoured.namespaces {
            self.namespaces(&theirs.namespaces)?;
        }
        self.sysctl(&theirs.sysctl)?;
        if honoured.net_devices {
            self.net_devices(&theirs.net_devices)?;
        }
        if honoured.scheduler
            && let Some(scheduler) = &theirs.scheduler
        {
            self.claims.take(Field::LinuxSched)?;
            self.combined.scheduler = Some(scheduler.clone());
            self.container.linux.get_or_insert_default().scheduler = Some(scheduler.clone());
        }
        if honoured.rdt
            && let Some(rdt) = &theirs.rdt
        {
            self.rdt(rdt)?;
        }
        if honoured.memory_policy
            && let Some(policy) = &theirs.memory_policy
        {
            self.claims.take(Field::MemoryPolicy)?;
            self.combined.memory_policy = Some(policy.clone());
        }
        Ok(())
    }

    fn devices(&mut self, theirs: &[LinuxDevice]) -> Result<(), Reason> {
        let entries = Entries::of(theirs);
        entries.merge(Field::Devices, &mut self.claims, &mut self.combined.devices)?;
        let seen = &mut self.container.linux.get_or_insert_default().devices;
        seen.retain(|device| !entries.touches(&device.path));
        seen.extend(entries.set.into_iter().cloned());
        Ok(())
    }

    /// A removal claims the namespace too. containerd shows the result in random order; here it is the
    /// container's, then the answer's.
    fn namespaces(&mut self, theirs: &[LinuxNamespace]) -> Result<(), Reason> {
        let seen = &mut self.container.linux.get_or_insert_default().namespaces;
        for namespace in theirs {
            let marked = removal(&namespace.r#type);
            let kind = marked.unwrap_or(&namespace.r#type);
            self.claims.take_key(Field::Namespace, kind)?;
            let position = seen.iter().position(|other| other.r#type == kind);
            match (marked.is_some(), position) {
                (true, Some(at)) => drop(seen.remove(at)),
                (true, None) => {}
                (false, Some(at)) => seen[at] = namespace.clone(),
                (false, None) => seen.push(namespace.clone()),
            }
            self.combined.namespaces.push(namespace.clone());
        }
        Ok(())
    }

    fn sysctl(&mut self, theirs: &BTreeMap<String, String>) -> Result<(), Reason> {
        let sets = theirs.keys().any(|key| removal(key).is_none());
        match self.claims.profile.adjust.sysctl {
            Fate::Ignored => return Ok(()),
            Fate::KillsRuntime if sets => {
                return Err(Reason::RuntimeDied("it writes a sysctl to a nil map"));
            }
            Fate::KillsRuntime | Fate::Applied => {}
        }
        let alone = merge_map(
            Field::Sysctl,
            &mut self.claims,
            theirs,
            &mut self.combined.sysctl,
            &mut self.container.linux.get_or_insert_default().sysctl,
        )?;
        // A slip of NRI's: a removal alone is noted as that of an annotation.
        for mark in alone {
            self.combined
                .annotations
                .insert(mark.clone(), String::new());
        }
        Ok(())
    }

    fn net_devices(&mut self, theirs: &BTreeMap<String, LinuxNetDevice>) -> Result<(), Reason> {
        let alone = merge_map(
            Field::LinuxNetDevices,
            &mut self.claims,
            theirs,
            &mut self.combined.net_devices,
            &mut self.container.linux.get_or_insert_default().net_devices,
        )?;
        for mark in alone {
            let nothing = LinuxNetDevice::default();
            self.combined.net_devices.insert(mark.clone(), nothing);
        }
        Ok(())
    }

    /// Later plugins do not see it.
    fn rdt(&mut self, theirs: &LinuxRdt) -> Result<(), Reason> {
        let combined = &mut self.combined.rdt;
        if theirs.remove {
            for field in [
                Field::RdtClosId,
                Field::RdtSchemata,
                Field::RdtEnableMonitoring,
            ] {
                self.claims.release(field);
            }
            *combined = LinuxRdt {
                remove: true,
                ..LinuxRdt::default()
            };
        }
        if theirs.clos_id.is_some() {
            self.claims.take(Field::RdtClosId)?;
            combined.clos_id.clone_from(&theirs.clos_id);
            combined.remove = false;
        }
        if theirs.schemata.is_some() {
            self.claims.take(Field::RdtSchemata)?;
            combined.schemata.clone_from(&theirs.schemata);
            combined.remove = false;
        }
        if theirs.enable_monitoring.is_some() {
            self.claims.take(Field::RdtEnableMonitoring)?;
            combined.enable_monitoring = theirs.enable_monitoring;
            combined.remove = false;
        }
        Ok(())
    }
}
