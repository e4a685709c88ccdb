//! Who set what: a thing may be set once per request, by one plugin.

use std::collections::BTreeMap;

use nri_proto::api::{Field, FieldOwners};

use crate::create_error::{Reason, Subject};
use crate::profile::Profile;

/// The plugin that set a thing, or that removed it and thereby reserved it.
#[derive(Debug)]
struct Owner {
    plugin: String,
    removed: bool,
}

/// The owners of everything that was set in one request.
#[derive(Debug, Default)]
pub(super) struct Owners(BTreeMap<(Field, Option<String>), Owner>);

impl Owners {
    pub(super) fn to_message(&self) -> FieldOwners {
        let mut message = FieldOwners::default();
        for ((field, key), owner) in self.0.iter().filter(|(_, owner)| !owner.removed) {
            let (field, plugin) = (*field as i32, owner.plugin.clone());
            match key {
                None => drop(message.simple.insert(field, plugin)),
                Some(key) => {
                    let owners = &mut message.compound.entry(field).or_default().owners;
                    owners.insert(key.clone(), plugin);
                }
            }
        }
        message
    }
}

/// One plugin's access to the owners, while its answer is merged.
pub(super) struct Claims<'a> {
    pub(super) profile: &'static Profile,
    pub(super) owners: &'a mut Owners,
    pub(super) plugin: &'a str,
}

impl Claims<'_> {
    /// Makes the plugin the owner of a field that a container has once.
    pub(super) fn take(&mut self, field: Field) -> Result<(), Reason> {
        self.claim(field, None)
    }

    /// Makes the plugin the owner of one entry of a field that a container has many of.
    pub(super) fn take_key(&mut self, field: Field, key: &str) -> Result<(), Reason> {
        self.claim(field, Some(key.to_owned()))
    }

    fn claim(&mut self, field: Field, key: Option<String>) -> Result<(), Reason> {
        let entry = (field, key);
        match self.owners.0.get(&entry) {
            Some(owner) if !(owner.removed && owner.plugin == self.plugin) => {
                let (field, key) = entry;
                Err(Reason::Conflict {
                    second: self.plugin.to_owned(),
                    first: owner.plugin.clone(),
                    subject: Subject {
                        field,
                        key,
                        style: self.profile.conflicts,
                    },
                })
            }
            _ => {
                self.set(entry, false);
                Ok(())
            }
        }
    }

    /// Takes the field from an earlier plugin.
    pub(super) fn release(&mut self, field: Field) {
        self.clear((field, None));
    }

    /// Takes the entry from an earlier plugin.
    pub(super) fn release_key(&mut self, field: Field, key: &str) {
        self.clear((field, Some(key.to_owned())));
    }

    fn clear(&mut self, entry: (Field, Option<String>)) {
        if self.profile.removal_reserves {
            self.set(entry, true);
        } else {
            self.owners.0.remove(&entry);
        }
    }

    fn set(&mut self, entry: (Field, Option<String>), removed: bool) {
        let plugin = self.plugin.to_owned();
        self.owners.0.insert(entry, Owner { plugin, removed });
    }
}
