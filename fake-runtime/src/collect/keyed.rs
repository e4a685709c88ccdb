//! Lists and maps whose entries are known by a key: mounts, variables, devices, annotations.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use nri_proto::api::{Field, KeyValue, LinuxDevice, Mount};

use super::owners::Claims;
use super::removal;
use crate::create_error::Reason;

/// An entry of such a list. A key that begins with `-` marks the removal of the rest of it.
pub(super) trait Keyed: Clone {
    fn key(&self) -> &str;
}

impl Keyed for Mount {
    fn key(&self) -> &str {
        &self.destination
    }
}

impl Keyed for KeyValue {
    fn key(&self) -> &str {
        &self.key
    }
}

impl Keyed for LinuxDevice {
    fn key(&self) -> &str {
        &self.path
    }
}

/// One plugin's list, taken apart.
pub(super) struct Entries<'a, T> {
    /// The entries with a mark, by the key without it.
    pub(super) removed: IndexMap<&'a str, &'a T>,
    /// The others.
    pub(super) set: Vec<&'a T>,
}

impl<'a, T: Keyed> Entries<'a, T> {
    pub(super) fn of(list: &'a [T]) -> Self {
        let (marked, set) = list
            .iter()
            .partition::<Vec<_>, _>(|entry| removal(entry.key()).is_some());
        Self {
            removed: marked
                .into_iter()
                .filter_map(|entry| Some((removal(entry.key())?, entry)))
                .collect(),
            set,
        }
    }

    /// Whether the plugin removes or sets this key, so that an entry of it makes way.
    pub(super) fn touches(&self, key: &str) -> bool {
        self.removed.contains_key(key) || self.sets(key)
    }

    /// Whether the plugin sets this key.
    pub(super) fn sets(&self, key: &str) -> bool {
        self.set.iter().any(|entry| entry.key() == key)
    }

    /// Merges into the combined list: an earlier plugin's entries that this one removes go, and their
    /// keys are free for it.
    pub(super) fn merge(
        &self,
        field: Field,
        claims: &mut Claims<'_>,
        combined: &mut Vec<T>,
    ) -> Result<(), Reason> {
        combined.retain(|entry| {
            let removed = self.removed.contains_key(entry.key());
            if removed {
                claims.release_key(field, entry.key());
            }
            !removed
        });
        for entry in &self.set {
            claims.take_key(field, entry.key())?;
            combined.push((*entry).clone());
        }
        Ok(())
    }
}

/// Merges one plugin's map: what it sets into the combined adjustment and into what the next plugin
/// sees. A key that it also removes is free for it.
///
/// Returns the marks of the keys that it only removes. Those take nothing from their owner, and later
/// plugins still see them.
pub(super) fn merge_map<'a, T: Clone + Default>(
    field: Field,
    claims: &mut Claims<'_>,
    theirs: &'a BTreeMap<String, T>,
    combined: &mut IndexMap<String, T>,
    seen: &mut BTreeMap<String, T>,
) -> Result<Vec<&'a String>, Reason> {
    let sets = |key: &str| removal(key).is_none() && theirs.contains_key(key);
    for (key, value) in theirs.iter().filter(|(key, _)| sets(key)) {
        let mark = format!("-{key}");
        if theirs.contains_key(&mark) {
            claims.release_key(field, key);
            combined.insert(mark, T::default());
        }
        claims.take_key(field, key)?;
        seen.insert(key.clone(), value.clone());
        combined.insert(key.clone(), value.clone());
    }
    let marks = theirs.keys();
    Ok(marks
        .filter(|mark| removal(mark).is_some_and(|key| !sets(key)))
        .collect())
}
