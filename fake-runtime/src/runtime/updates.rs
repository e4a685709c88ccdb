//! Merging the changes of containers that several plugins ask for while one thing happens.

use nri_proto::api::{
    Container, ContainerAdjustment, ContainerUpdate, CreateContainerRequest,
    LinuxContainerAdjustment, LinuxContainerUpdate, LinuxResources,
};

use super::running::set;
use crate::collect::Collector;
use crate::create::{Answer, Reason};
use crate::profile::Profile;

/// What plugins ask for, by container.
#[derive(Debug)]
pub(super) struct Updates {
    profile: &'static Profile,
    containers: Vec<OfContainer>,
}

#[derive(Debug)]
struct OfContainer {
    update: ContainerUpdate,
    /// Who set what of it.
    owners: Collector,
}

impl Updates {
    pub(super) fn new(profile: &'static Profile) -> Self {
        Self {
            profile,
            containers: Vec::new(),
        }
    }

    /// Adds what a plugin asks for.
    ///
    /// # Errors
    ///
    /// Another plugin has asked for something else of the same container: containerd's words.
    pub(super) fn add(&mut self, plugin: &str, updates: &[ContainerUpdate]) -> Result<(), String> {
        for update in updates {
            let resources = update
                .linux
                .as_ref()
                .and_then(|linux| linux.resources.clone());
            let resources = resources.unwrap_or_default();
            let of = self.of(&update.container_id);
            of.update.ignore_failure |= update.ignore_failure;
            let claimed = ContainerAdjustment {
                linux: Some(LinuxContainerAdjustment {
                    resources: Some(resources.clone()),
                    ..Default::default()
                }),
                ..Default::default()
            };
            match of.owners.answer(plugin, &Answer::Adjust(Box::new(claimed))) {
                Err(Reason::Conflict {
                    second,
                    first,
                    subject,
                }) => {
                    if !update.ignore_failure {
                        return Err(format!(
                            "plugins {second:?} and {first:?} both tried to set {subject}"
                        ));
                    }
                }
                _ => {
                    let linux = of.update.linux.get_or_insert_default();
                    set(linux.resources.get_or_insert_default(), &resources);
                }
            }
        }
        Ok(())
    }

    fn of(&mut self, id: &str) -> &mut OfContainer {
        let known = self
            .containers
            .iter()
            .position(|it| it.update.container_id == id);
        let at = known.unwrap_or_else(|| {
            let container = Container {
                id: id.to_owned(),
                ..Default::default()
            };
            let request = CreateContainerRequest {
                container: Some(container),
                ..Default::default()
            };
            self.containers.push(OfContainer {
                update: ContainerUpdate {
                    container_id: id.to_owned(),
                    linux: Some(LinuxContainerUpdate {
                        resources: Some(LinuxResources::default()),
                    }),
                    ignore_failure: false,
                },
                owners: Collector::new(self.profile, request),
            });
            self.containers.len() - 1
        });
        &mut self.containers[at]
    }

    /// What is asked of one container.
    pub(super) fn resources_of(&self, id: &str) -> Option<&LinuxResources> {
        let of = self
            .containers
            .iter()
            .find(|it| it.update.container_id == id)?;
        of.update.linux.as_ref()?.resources.as_ref()
    }

    /// What is asked of each, in the order in which it was asked first.
    pub(super) fn all(&self) -> impl Iterator<Item = &ContainerUpdate> {
        self.containers.iter().map(|it| &it.update)
    }
}
