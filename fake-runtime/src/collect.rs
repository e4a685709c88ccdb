//! Merging what several plugins answer to one CreateContainer request.
//!
//! The plugins are asked one after the other. Each answer is checked against the ones before it, added
//! to one combined adjustment, and shown to the next plugin as if it were the container's own. The
//! first conflict ends everything.

mod combined;
mod container;
mod keyed;
mod linux;
mod owners;
mod resources;

use indexmap::IndexMap;
use nri_proto::api::{
    Container, ContainerAdjustment, CreateContainerRequest, FieldOwners, Hooks, KeyValue,
    LinuxDevice, LinuxIoPriority, LinuxMemoryPolicy, LinuxNamespace, LinuxNetDevice, LinuxRdt,
    LinuxResources, LinuxScheduler, LinuxSeccomp, Mount, PosixRlimit,
};
use owners::{Claims, Owners};

pub use owners::Subject;

use crate::create::{Answer, CreateError};
use crate::profile::Profile;

/// The combined adjustment: what [`apply`](crate::apply::apply) does to the spec, once.
///
/// It has an adjustment's fields, and differs in that its maps keep the order in which plugins filled
/// them. A key with a removal mark and the same key without may both be in one of them, and then the
/// order decides. (containerd uses Go maps there, whose order is random.)
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combined {
    /// To set, or with a mark to remove.
    pub annotations: IndexMap<String, String>,
    /// To set, or with a mark to remove.
    pub mounts: Vec<Mount>,
    /// To set.
    pub env: Vec<KeyValue>,
    /// To replace the command line with, unless empty.
    pub args: Vec<String>,
    /// To append.
    pub hooks: Hooks,
    /// To set.
    pub devices: Vec<LinuxDevice>,
    /// To set; device rules to append.
    pub resources: LinuxResources,
    /// To set, unless empty.
    pub cgroups_path: String,
    /// To set.
    pub oom_score_adj: Option<i64>,
    /// To set; class NONE removes.
    pub io_priority: Option<LinuxIoPriority>,
    /// To replace the profile with.
    pub seccomp_policy: Option<LinuxSeccomp>,
    /// To set, or with a mark to remove.
    pub namespaces: Vec<LinuxNamespace>,
    /// To set, or with a mark to remove.
    pub sysctl: IndexMap<String, String>,
    /// To set, or with a mark to remove.
    pub net_devices: IndexMap<String, LinuxNetDevice>,
    /// To set; policy NONE removes.
    pub scheduler: Option<LinuxScheduler>,
    /// To set field by field, or to remove whole.
    pub rdt: LinuxRdt,
    /// To set.
    pub memory_policy: Option<LinuxMemoryPolicy>,
    /// To append.
    pub rlimits: Vec<PosixRlimit>,
    /// To resolve and inject, in this order.
    pub cdi_devices: Vec<String>,
}

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
    /// [`CreateError::Plugin`] where that is an error; [`CreateError::Conflict`]; [`CreateError::RuntimeDied`] in the
    /// versions that die of an answer. The collector is of no use after it.
    pub fn answer(&mut self, plugin: &str, answer: &Answer) -> Result<(), CreateError> {
        match answer {
            Answer::Adjust(adjustment) => self.add(plugin, adjustment),
            Answer::Error { code, message } => Err(CreateError::Plugin {
                code: code.clone(),
                message: message.clone(),
            }),
            Answer::Lost(_) => Ok(()),
        }
    }

    fn add(&mut self, plugin: &str, answer: &ContainerAdjustment) -> Result<(), CreateError> {
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
    fn answer(&mut self, answer: &ContainerAdjustment) -> Result<(), CreateError> {
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
