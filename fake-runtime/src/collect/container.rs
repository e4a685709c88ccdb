//! The fields of an adjustment outside `linux`.

use std::collections::BTreeMap;

use nri_proto::api::{CdiDevice, Field, Hooks, KeyValue, Mount, PosixRlimit};

use super::Merge;
use super::keyed::{Entries, merge_map};
use crate::create_error::Reason;

impl Merge<'_> {
    pub(super) fn annotations(&mut self, theirs: &BTreeMap<String, String>) -> Result<(), Reason> {
        let alone = merge_map(
            Field::Annotations,
            &mut self.claims,
            theirs,
            &mut self.combined.annotations,
            &mut self.container.annotations,
        )?;
        for mark in alone {
            self.combined
                .annotations
                .insert(mark.clone(), String::new());
        }
        Ok(())
    }

    pub(super) fn mounts(&mut self, theirs: &[Mount]) -> Result<(), Reason> {
        let entries = Entries::of(theirs);
        entries.merge(Field::Mounts, &mut self.claims, &mut self.combined.mounts)?;
        if self.claims.profile.adjust.mount_removal {
            let alone = entries.removed.iter().filter(|(key, _)| !entries.sets(key));
            self.combined
                .mounts
                .extend(alone.map(|(_, mark)| (*mark).clone()));
        }
        let seen = &mut self.container.mounts;
        seen.retain(|mount| !entries.touches(&mount.destination));
        seen.extend(entries.set.into_iter().cloned());
        Ok(())
    }

    pub(super) fn env(&mut self, theirs: &[KeyValue]) -> Result<(), Reason> {
        let entries = Entries::of(theirs);
        entries.merge(Field::Env, &mut self.claims, &mut self.combined.env)?;
        let seen = &mut self.container.env;
        seen.retain(|entry| {
            let key = entry.split_once('=').map_or(entry.as_str(), |(key, _)| key);
            !entries.touches(key)
        });
        let set = entries.set.iter();
        seen.extend(set.map(|entry| format!("{}={}", entry.key, entry.value)));
        Ok(())
    }

    /// A first argument of `""` is the removal mark: the rest takes an earlier plugin's place.
    pub(super) fn args(&mut self, theirs: &[String]) -> Result<(), Reason> {
        let args = match theirs {
            [] => return Ok(()),
            [mark, rest @ ..] if mark.is_empty() => {
                self.claims.release(Field::Args);
                rest
            }
            args => args,
        };
        self.claims.take(Field::Args)?;
        self.combined.args = args.to_vec();
        self.container.args = args.to_vec();
        Ok(())
    }

    /// Nobody owns hooks.
    pub(super) fn hooks(&mut self, theirs: &Hooks) {
        append_hooks(&mut self.combined.hooks, theirs);
        if *theirs != Hooks::default() {
            append_hooks(self.container.hooks.get_or_insert_default(), theirs);
        }
    }

    pub(super) fn rlimits(&mut self, theirs: &[PosixRlimit]) -> Result<(), Reason> {
        for limit in theirs {
            self.claims.take_key(Field::Rlimits, &limit.r#type)?;
            self.combined.rlimits.push(limit.clone());
            self.container.rlimits.push(limit.clone());
        }
        Ok(())
    }

    /// Later plugins do not see them.
    pub(super) fn cdi_devices(&mut self, theirs: &[CdiDevice]) -> Result<(), Reason> {
        for device in theirs {
            self.claims.take_key(Field::CdiDevices, &device.name)?;
            self.combined.cdi_devices.push(device.name.clone());
        }
        Ok(())
    }
}

fn append_hooks(to: &mut Hooks, from: &Hooks) {
    to.prestart.extend_from_slice(&from.prestart);
    to.create_runtime.extend_from_slice(&from.create_runtime);
    to.create_container
        .extend_from_slice(&from.create_container);
    to.start_container.extend_from_slice(&from.start_container);
    to.poststart.extend_from_slice(&from.poststart);
    to.poststop.extend_from_slice(&from.poststop);
}
