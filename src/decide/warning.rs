//! What a container has to do without, in a form that logs and metrics can both use.

use std::fmt;

/// How many names a warning spells out before it only counts the rest.
const NAMES_SHOWN: usize = 10;

/// Something that the container goes without, or that will not work as its author may expect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A ComputeDomain daemon came by, and what it needs will never be staged.
    ComputeDomainStagingOff,
    /// A part of the overlay is not a directory; it is mounted all the same.
    OverlayNotStaged {
        /// Which part.
        path: String,
    },
    /// There is no mock GPU node to hand out.
    NoGpuDevices {
        /// The directory that should hold them.
        path: String,
        /// What is wrong with it.
        cause: String,
    },
    /// Nothing is at the CDI specification's path, so raw nodes are handed out.
    NoCdiSpec {
        /// The path.
        path: String,
        /// What is wrong with it.
        cause: String,
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

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ComputeDomainStagingOff => write!(
                out,
                "compute domain daemon left alone: what it needs is never staged without --compute-domain-staging"
            ),
            Self::OverlayNotStaged { path } => write!(
                out,
                "overlay not staged: {path} is not a directory, and the container fails to start if it stays so"
            ),
            Self::NoGpuDevices { path, cause } => {
                write!(out, "no mock GPU device in {path}: {cause}")
            }
            Self::NoCdiSpec { path, cause } => write!(
                out,
                "no CDI specification at {path}, raw device nodes are used instead: {cause}"
            ),
            Self::NoInfinibandDevices { path, cause } => write!(
                out,
                "InfiniBand tools will find no HCA, nothing is staged in {path}: {cause}"
            ),
            Self::NoImexChannels { path, cause } => {
                write!(out, "no mock IMEX channel in {path}: {cause}")
            }
            Self::DevicesSkipped { reason, devices } => {
                write!(out, "devices skipped, {}: ", reason.as_str())?;
                names(out, devices)
            }
            Self::RepeatedEnv { keys } => {
                write!(
                    out,
                    "set twice in the container, so the change has no effect: "
                )?;
                names(out, keys)
            }
            Self::RepeatedInAdjustment { names: repeated } => {
                write!(out, "would be added twice, only the first is: ")?;
                names(out, repeated)
            }
        }
    }
}

fn names(out: &mut fmt::Formatter<'_>, names: &[String]) -> fmt::Result {
    let shown = &names[..names.len().min(NAMES_SHOWN)];
    out.write_str(&shown.join(", "))?;
    match names.len() - shown.len() {
        0 => Ok(()),
        more => write!(out, " and {more} more"),
    }
}
