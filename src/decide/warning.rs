//! What a container has to do without, in a form that logs and metrics can both use.

use std::fmt;

/// How many names a warning spells out before it only counts the rest.
const NAMES_SHOWN: usize = 10;

/// Something that the container goes without, or that will not work as its author may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A ComputeDomain daemon came by, and what it needs will never be staged.
    ComputeDomainStagingOff,
    /// A shared volume holds the place of the overlay, so the container is left alone.
    OverlayWouldPropagate {
        /// Where the volume is mounted.
        path: String,
    },
    /// A volume lies below the overlay, which has no place for it, so the container is left alone.
    VolumeBelowOverlay {
        /// Where the volume is mounted.
        path: String,
    },
    /// A part of the overlay is not a directory; it is mounted all the same.
    OverlayNotStaged {
        /// Which part.
        path: String,
    },
    /// The container runs in a user namespace, to which the owner of the configuration is nobody.
    ConfigNotWritable,
    /// The container brings its own `/dev`.
    OwnDev,
    /// There is no mock GPU node to hand out.
    NoGpuDevices {
        /// The directory that should hold them.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The CDI name does not resolve, so raw nodes are handed out.
    NoCdiSpec {
        /// The specification's path.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The CDI name would bring what must not be handed out, so raw nodes are.
    CdiNodesHeldBack {
        /// The specification's path.
        path: String,
        /// The nodes.
        devices: Vec<String>,
    },
    /// The InfiniBand tools will find no HCA.
    NoInfinibandDevices {
        /// The directory that should hold them.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// There is no mock IMEX channel to hand out.
    NoImexChannels {
        /// The directory that should hold them.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Some staged entries are not handed out.
    DevicesSkipped {
        /// Why.
        reason: SkipReason,
        /// Which, by their path in the container.
        devices: Vec<String>,
    },
    /// Keys that stand twice in the container's environment: the runtime replaces the first, the last wins.
    RepeatedEnv {
        /// Which.
        keys: Vec<String>,
    },
    /// Things that the configuration or the tree would have added twice; the first was kept.
    RepeatedInAdjustment {
        /// Which: destinations, keys, device paths or CDI names.
        names: Vec<String>,
    },
}

/// Why a staged device is not handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It cannot be looked up: gone, a link to nowhere, or not readable.
    Unresolved,
    /// It is no character device.
    NotCharDevice,
    /// Its number belongs to a real NVIDIA driver of this kernel.
    RealDriver,
}

impl SkipReason {
    /// The reason as it stands in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unresolved => "cannot be looked up",
            Self::NotCharDevice => "not a character device",
            Self::RealDriver => "real NVIDIA driver",
        }
    }
}

impl Warning {
    /// What it says of every container, free of names.
    pub fn message(&self) -> &'static str {
        match self {
            Self::ComputeDomainStagingOff => {
                "compute domain daemon left alone: what it needs is never staged without --compute-domain-staging"
            }
            Self::OverlayWouldPropagate { .. } => {
                "container left alone: the overlay would be mounted in its shared volume on the node too, and be deleted with it"
            }
            Self::VolumeBelowOverlay { .. } => {
                "container left alone: its volume lies below the overlay, where nothing is staged for it to be mounted on"
            }
            Self::OverlayNotStaged { .. } => {
                "overlay not staged: this is not a directory, and the container fails to start if it stays so"
            }
            Self::ConfigNotWritable => {
                "the mock driver's configuration cannot be written in a user namespace, so injected faults are not cleared"
            }
            Self::OwnDev => "device nodes are not made in a /dev that the container brings itself",
            Self::NoGpuDevices { .. } => "no mock GPU device",
            Self::NoCdiSpec { .. } => {
                "the CDI device does not resolve, raw device nodes are used instead"
            }
            Self::CdiNodesHeldBack { .. } => {
                "the CDI device brings nodes of the real NVIDIA driver or nodes that cannot be looked at, raw device nodes are used instead"
            }
            Self::NoInfinibandDevices { .. } => "InfiniBand tools will find no HCA",
            Self::NoImexChannels { .. } => "no mock IMEX channel",
            Self::DevicesSkipped { .. } => "devices skipped",
            Self::RepeatedEnv { .. } => "set twice in the container, so the change has no effect",
            Self::RepeatedInAdjustment { .. } => "would be added twice, only the first is",
        }
    }

    /// The path that it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::OverlayWouldPropagate { path }
            | Self::VolumeBelowOverlay { path }
            | Self::OverlayNotStaged { path }
            | Self::NoGpuDevices { path, .. }
            | Self::NoCdiSpec { path, .. }
            | Self::CdiNodesHeldBack { path, .. }
            | Self::NoInfinibandDevices { path, .. }
            | Self::NoImexChannels { path, .. } => Some(path),
            _ => None,
        }
    }

    /// What is wrong there.
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::NoGpuDevices { cause, .. }
            | Self::NoCdiSpec { cause, .. }
            | Self::NoInfinibandDevices { cause, .. }
            | Self::NoImexChannels { cause, .. } => Some(cause),
            Self::DevicesSkipped { reason, .. } => Some(reason.as_str()),
            _ => None,
        }
    }

    /// The devices, keys or other names that it is about, the first ten by name.
    pub fn names(&self) -> Option<String> {
        let names = match self {
            Self::CdiNodesHeldBack { devices, .. } | Self::DevicesSkipped { devices, .. } => {
                devices
            }
            Self::RepeatedEnv { keys } => keys,
            Self::RepeatedInAdjustment { names } => names,
            _ => return None,
        };
        let shown = &names[..names.len().min(NAMES_SHOWN)];
        let more = match names.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(shown.join(", ") + &more)
    }
}

/// The whole of it in one line.
impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.message())?;
        let names = self.names();
        let fields = [self.path(), self.cause(), names.as_deref()];
        let mut separator = ": ";
        for field in fields.into_iter().flatten() {
            write!(out, "{separator}{field}")?;
            separator = ", ";
        }
        Ok(())
    }
}
