//! What the plugin must answer, written a second time from the description of its behaviour alone.
//!
//! It shares no code with the plugin and prefers the slow and obvious way, so that it can be read beside the
//! description, section by section. The properties hold the plugin against it on arbitrary input.
//!
//! | module | section of the description |
//! | --- | --- |
//! | [`command_line`] | the flags, their environment variables and their defaults |
//! | [`settings`] | what they derive from each other, and what refuses to start |
//! | [`decision`] | the decision, in order |
//! | [`allocation`] | evidence of an allocation |
//! | [`mounts`], [`environment`], [`devices`] | what an adjusted container gets |
//! | [`compute_domain`] | the ComputeDomain daemon |
//! | [`volumes`], [`user_namespace`], [`cdi`] | the deliberate choices 13 and 15, 14, and 21 |

pub mod allocation;
pub mod cdi;
pub mod clean;
pub mod command_line;
pub mod compute_domain;
pub mod decision;
pub mod devices;
pub mod environment;
pub mod feature_gates;
pub mod mounts;
pub mod network;
pub mod settings;
pub mod tree;
pub mod user_namespace;
pub mod volumes;

use std::collections::BTreeSet;

use nri_proto::api::{Container, ContainerAdjustment, PodSandbox};

pub use command_line::CommandLine;
pub use settings::Settings;
pub use tree::Tree;

/// Everything outside the process that an answer depends on.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// What is on the node's disk.
    pub tree: Tree,
    /// What the staging gate would say. Ignored where the flags do not ask for a gate.
    pub gate: Gate,
    /// Who asks.
    pub runtime: Runtime,
    /// The majors for which the kernel has a character device driver whose name starts with `nvidia`.
    pub nvidia_majors: BTreeSet<i64>,
}

/// A runtime, as far as what it makes of an adjustment differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runtime {
    /// Drops CDI devices.
    ContainerdBefore2_1,
    /// Delivers them.
    #[default]
    Containerd2_1,
    /// Applies device rules as well.
    Containerd2_2,
    /// Drops CDI devices, and has `PATH` twice in nearly every container.
    CriOBefore1_34,
    /// Delivers them, and has `PATH` twice as well.
    CriO,
}

/// What the staging gate says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Gate {
    /// The lock was to be had, and the agent answered 200.
    #[default]
    Open,
    /// Anything else.
    Closed,
}

/// What the process does about one container.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The command line is refused: no container is ever asked about.
    StartupError(&'static str),
    /// The container gets something. Never empty.
    Adjusted(Box<ContainerAdjustment>),
    /// The container stays as it is, for the reason that the description names, where it names one.
    LeftAlone(Option<&'static str>),
    /// The container stays as it is because the staging gate is closed.
    Gated,
    /// The runtime is told to refuse the container, for one of these.
    Refused(BTreeSet<Missing>),
}

/// What a ComputeDomain daemon cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The staging gate, open.
    OpenGate,
    /// `nvidia-imex.real`, a regular file.
    Binary,
    /// The topology document.
    Topology,
    /// The node's name.
    NodeName,
}

/// An answer, and what a person reading the log must be told besides.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What goes to the runtime.
    pub answer: Answer,
    /// Every degradation, once a kind.
    pub warnings: BTreeSet<Warning>,
}

/// A degradation that is logged as a warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The GPUs' directory is missing, unreadable, or holds no GPU.
    NoGpuNodes,
    /// The CDI name does not resolve.
    NoCdiSpec,
    /// The CDI name would bring what must not be handed out.
    CdiNodesHeldBack,
    /// InfiniBand is selected and no HCA is staged.
    NoHca,
    /// The IMEX channels' directory is missing or holds no channel.
    NoImexChannels,
    /// Some staged entry is no character device.
    NotACharacterDevice,
    /// Some staged node would open a device of the real driver.
    RealDriver,
    /// A bind whose source is not staged.
    OverlayNotStaged,
    /// The overlay would be mounted in a shared volume.
    OverlayWouldPropagate,
    /// A volume below the overlay has no place in it.
    VolumeBelowOverlay,
    /// The container brings its own `/dev`, in which no node is made.
    OwnDev,
    /// The configuration cannot be written in a user namespace.
    ConfigNotWritable,
    /// A key that stands twice in the container's environment.
    RepeatedKey(String),
    /// Something would have stood twice in the adjustment.
    Repeated,
    /// A ComputeDomain daemon, and nobody stages what it needs.
    ComputeDomainStagingOff,
    /// The staging gate is closed.
    GateClosed,
}

/// The answer to one request of a process started with `command_line`.
pub fn answer(
    command_line: &CommandLine,
    world: &World,
    pod: Option<&PodSandbox>,
    container: Option<&Container>,
) -> Outcome {
    match Settings::resolve(command_line) {
        Err(what) => Outcome {
            answer: Answer::StartupError(what),
            warnings: BTreeSet::new(),
        },
        Ok(settings) => decision::decide(&settings, world, pod, container),
    }
}
