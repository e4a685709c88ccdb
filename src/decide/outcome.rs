//! What is decided: whether the container is touched at all, and what comes of it.

use super::adjustment::Adjustment;
use super::surfaces::Surfaces;
use super::warning::Warning;

/// What is to be done with a container, before the disk is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Nothing. The staging gate is not asked.
    LeaveAlone {
        /// Why.
        reason: Reason,
        /// What to warn of although nothing is done.
        warning: Option<Warning>,
    },
    /// It is the DRA driver's ComputeDomain daemon and needs its files.
    Daemon,
    /// It is given these surfaces.
    Inject(Surfaces),
}

impl Selection {
    /// The decision when the staging gate is closed for `reason`. A container that is left alone anyway
    /// never asks the gate, and stays left alone.
    pub fn behind_closed_gate(&self, reason: String) -> Decision {
        let outcome = match self {
            Self::LeaveAlone { reason, .. } => Outcome::Unmodified(*reason),
            Self::Daemon => Outcome::Refused(Refusal::GateClosed { reason }),
            Self::Inject(_) => Outcome::Gated { reason },
        };
        Decision {
            outcome,
            warnings: Vec::new(),
        }
    }
}

/// The answer for one container, and what to warn of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub outcome: Outcome,
    /// What is degraded, each kind at most once.
    pub warnings: Vec<Warning>,
}

/// The answer for one container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The container is created with this on top; it is never empty.
    Adjusted(Adjustment),
    /// The container is created as it is.
    Unmodified(Reason),
    /// The container is created as it is, because the staging gate is closed.
    Gated {
        /// What keeps the gate closed.
        reason: String,
    },
    /// The container is not created, so that the kubelet tries again.
    Refused(Refusal),
}

impl Outcome {
    /// The outcome's name in logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Adjusted(_) => "adjusted",
            Self::Unmodified(_) => "unmodified",
            Self::Gated { .. } => "gated",
            Self::Refused(_) => "refused",
        }
    }
}

/// Why a container is created as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The pod's opt-out annotation says `false`.
    OptOut,
    /// The pod's namespace is excluded.
    ExcludedNamespace,
    /// It is a ComputeDomain daemon, and `--compute-domain-staging` is off.
    ComputeDomainStagingOff,
    /// No allocation, and no annotation that asks for anything.
    NothingSelected,
    /// Something is already mounted where the overlay goes.
    OverlayAlreadyMounted,
    /// A shared volume of the container would carry the overlay onto the node.
    OverlayWouldPropagate,
    /// A volume of the container lies below the overlay, where the overlay has no place for it.
    VolumeBelowOverlay,
    /// Another copy of this plugin has already given it what it would get.
    AlreadyAdjusted,
    /// `RequireStagedOverlay` is on, and the overlay is not there.
    OverlayNotStaged,
    /// What was asked for is not staged, and nothing else was asked for.
    NothingToAdd,
}

impl Reason {
    /// The reason as it stands in logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OptOut => "opt-out annotation",
            Self::ExcludedNamespace => "excluded namespace",
            Self::ComputeDomainStagingOff => "compute domain staging off",
            Self::NothingSelected => "no GPU allocation and no opt-in annotation",
            Self::OverlayAlreadyMounted => "overlay already mounted",
            Self::OverlayWouldPropagate => "overlay would propagate to the node",
            Self::VolumeBelowOverlay => "volume below the overlay",
            Self::AlreadyAdjusted => "already adjusted",
            Self::OverlayNotStaged => "overlay not staged",
            Self::NothingToAdd => "nothing to add",
        }
    }
}

/// Why a ComputeDomain daemon is not created yet. The text is what the runtime shows for the container.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The real IMEX daemon is not there.
    #[error("compute domain daemon is not staged yet: {path} is not a regular file")]
    BinaryNotStaged {
        /// Where it was looked for.
        path: String,
    },
    /// The topology document is not there.
    #[error("compute domain daemon is not staged yet: there is no topology document at {path}")]
    TopologyNotStaged {
        /// Where it was looked for.
        path: String,
    },
    /// Nobody told the node's name.
    #[error("compute domain daemon cannot be placed in the topology: set --node-name or NODE_NAME")]
    NodeNameUnknown,
    /// The staging gate is closed.
    #[error("compute domain daemon is not staged yet: {reason}")]
    GateClosed {
        /// What keeps the gate closed.
        reason: String,
    },
}

impl Refusal {
    /// A short name for metrics, free of paths.
    pub fn name(&self) -> &'static str {
        match self {
            Self::BinaryNotStaged { .. } => "binary not staged",
            Self::TopologyNotStaged { .. } => "topology not staged",
            Self::NodeNameUnknown => "node name unknown",
            Self::GateClosed { .. } => "staging gate closed",
        }
    }
}
