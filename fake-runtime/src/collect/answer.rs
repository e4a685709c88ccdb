//! What a plugin that was asked came back with.

use std::fmt;

use nri_proto::api::{ContainerAdjustment, Hooks, LinuxResources};

/// What came back from a plugin that was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An adjustment, perhaps empty.
    Adjust(Box<ContainerAdjustment>),
    /// An error, which fails the container.
    Error {
        /// The name of the gRPC code: `Unknown`.
        code: String,
        /// What the plugin said.
        message: String,
    },
    /// Nothing, because it was too slow, or its connection broke; says which. The container is made without it.
    Lost(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adjust(adjustment) => write!(f, "adjusted {}", parts(adjustment)),
            Self::Error { code, message } => {
                write!(f, "answered with an error: {message} ({code})")
            }
            Self::Lost(why) => write!(f, "gave no answer: {why}"),
        }
    }
}

/// What is in an adjustment, in a few words.
fn parts(adjustment: &ContainerAdjustment) -> String {
    let linux = adjustment.linux.clone().unwrap_or_default();
    let counted = [
        (adjustment.mounts.len(), "mount"),
        (adjustment.env.len(), "variable"),
        (linux.devices.len(), "device"),
        (adjustment.cdi_devices.len(), "CDI device"),
        (adjustment.annotations.len(), "annotation"),
        (adjustment.rlimits.len(), "rlimit"),
        (linux.namespaces.len(), "namespace"),
        (linux.sysctl.len(), "kernel parameter"),
        (linux.net_devices.len(), "net device"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, of)| format!("{number} {of}{}", if number == 1 { "" } else { "s" }));
    let named = [
        (!adjustment.args.is_empty(), "the arguments"),
        (
            adjustment
                .hooks
                .as_ref()
                .is_some_and(|hooks| *hooks != Hooks::default()),
            "hooks",
        ),
        (
            linux
                .resources
                .is_some_and(|resources| resources != LinuxResources::default()),
            "resources",
        ),
        (!linux.cgroups_path.is_empty(), "the cgroups path"),
        (linux.oom_score_adj.is_some(), "the OOM score"),
        (linux.io_priority.is_some(), "the I/O priority"),
        (linux.seccomp_policy.is_some(), "the seccomp policy"),
        (linux.scheduler.is_some(), "the scheduler"),
        (linux.rdt.is_some(), "RDT"),
        (linux.memory_policy.is_some(), "the memory policy"),
    ]
    .into_iter()
    .filter(|(set, _)| *set)
    .map(|(_, name)| name.to_owned());
    let parts: Vec<_> = counted.chain(named).collect();
    match parts.is_empty() {
        true => "nothing".to_owned(),
        false => parts.join(", "),
    }
}
