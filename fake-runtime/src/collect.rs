//! Merging what several plugins answer to one CreateContainer request.
//!
//! The plugins are asked one after the other. Each answer is checked against the ones before it, added
//! to one combined adjustment, and shown to the next plugin as if it were the container's own. The
//! first conflict ends everything.

mod answer;
mod combined;
mod container;
mod keyed;
mod linux;
mod owners;
mod resources;

use nri_proto::api::{Container, ContainerAdjustment, CreateContainerRequest, FieldOwners};
use owners::{Claims, Owners};

pub use answer::Answer;
pub use combined::Combined;

use crate::create_error::Reason;
use crate::profile::Profile;

/// One request on its way through the plugins.
#[derive(Debug)]
pub struct Collector {
    profile: &'static Profile,
    owners: Owners,
    request: CreateContainerRequest,
    combined: Combined,
}

impl Collector {
    /// Starts with the request that the first plugin gets.
    pub fn new(profile: &'static Profile, request: CreateContainerRequest) -> Self {
        Self {
            profile,
            owners: Owners::default(),
            request,
            combined: Combined::default(),
        }
    }

    /// The request that the next plugin gets: the container as adjusted so far.
    ///
    /// Not in it, as in containerd: CDI devices and whatever they bring, `linux.rdt`,
    /// `linux.memory_policy`, and the cgroup rules of new devices.
    pub fn request(&self) -> &CreateContainerRequest {
        &self.request
    }

    /// Adds whatever came back from a plugin, named `IDX-NAME`.
    ///
    /// # Errors
    /// [`Reason::Plugin`] where that is an error; [`Reason::Conflict`]; [`Reason::RuntimeDied`] in the
    /// versions that die of an answer. The collector is of no use after it.
    pub fn answer(&mut self, plugin: &str, answer: &Answer) -> Result<(), Reason> {
        match answer {
            Answer::Adjust(adjustment) => self.add(plugin, adjustment),
            Answer::Error { code, message } => Err(Reason::Plugin {
                code: code.clone(),
                message: message.clone(),
            }),
            Answer::Lost(_) => Ok(()),
        }
    }

    fn add(&mut self, plugin: &str, answer: &ContainerAdjustment) -> Result<(), Reason> {
        let container = self.request.container.get_or_insert_default();
        Merge {
            claims: Claims {
                profile: self.profile,
                owners: &mut self.owners,
                plugin,
            },
            combined: &mut self.combined,
            container,
        }
        .answer(answer)
    }

    /// Who set what until now, as validators are told.
    pub fn owners(&self) -> FieldOwners {
        self.owners.to_message()
    }

    /// The combined adjustment of all answers.
    pub fn finish(self) -> Combined {
        self.combined
    }
}

/// The merging of one answer.
struct Merge<'a> {
    claims: Claims<'a>,
    combined: &'a mut Combined,
    /// The container as the next plugin sees it.
    container: &'a mut Container,
}

impl Merge<'_> {
    /// Field by field in containerd's order, which decides what a conflict is about.
    fn answer(&mut self, answer: &ContainerAdjustment) -> Result<(), Reason> {
        let honoured = self.claims.profile.adjust;
        self.annotations(&answer.annotations)?;
        self.mounts(&answer.mounts)?;
        self.env(&answer.env)?;
        if honoured.args {
            self.args(&answer.args)?;
        }
        if let Some(hooks) = &answer.hooks {
            self.hooks(hooks);
        }
        if let Some(linux) = &answer.linux {
            self.linux(linux)?;
        }
        self.rlimits(&answer.rlimits)?;
        if honoured.cdi_devices {
            self.cdi_devices(&answer.cdi_devices)?;
        }
        Ok(())
    }
}

/// The key that a removal mark is on.
pub(crate) fn removal(key: &str) -> Option<&str> {
    key.strip_prefix('-')
}
