//! Why a configuration could not work.

use crate::feature_gates::FeatureGateError;
use crate::logging::on_one_line;
use crate::path::AbsolutePath;

/// Why a configuration could not work. The text is the line that the user reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A flag's value is refused.
    #[error("invalid --{flag} {value:?}: {cause}")]
    Invalid {
        /// The flag, without dashes.
        flag: &'static str,
        /// The value as it was given.
        value: String,
        /// What is wrong with it.
        cause: Cause,
    },
    /// One of the two flags of the staging gate stands without the other.
    #[error(
        "--{given} needs --{missing}: the staging gate is the node agent's URL and its lock together"
    )]
    HalfGate {
        /// The flag that is set, without dashes.
        given: &'static str,
        /// The flag that is not.
        missing: &'static str,
    },
}

/// What is wrong with a flag's value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
    /// A feature gate is refused.
    #[error(transparent)]
    FeatureGate(#[from] FeatureGateError),
    /// None of the words that the flag takes.
    #[error("not one of {known}")]
    UnknownWord {
        /// The words.
        known: String,
    },
    /// Neither true nor false.
    #[error("not a boolean, use true or false")]
    NotBoolean,
    /// A path that does not start at `/`.
    #[error(
        "not an absolute path, start it with /: programs with other working directories read it too"
    )]
    Relative,
    /// A path that every container needs for something else.
    #[error(
        "every container has a file system of the system there, which the overlay would hide; choose another path"
    )]
    SystemMount,
    /// No `host:port`.
    #[error("not an address, use host:port or :port with a port up to 65535")]
    NotAddress,
    /// Not two digits.
    #[error("the runtime takes two digits, as in 10")]
    PluginIndex,
    /// Characters that newer runtimes refuse.
    #[error("the runtime takes letters, digits and _ . + -")]
    PluginName,
    /// No CDI device name.
    #[error("not a CDI device name, use vendor/class=device: {part} {fault}")]
    CdiDeviceName {
        /// The part that is wrong.
        part: &'static str,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// No URL that the node agent can be asked at.
    #[error("{fault}, use http://host:port/path")]
    AgentUrl {
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The lock would be mounted into every container.
    #[error(
        "inside the overlay {}, so that every container could hold the lock; put it elsewhere",
        on_one_line(overlay.as_str())
    )]
    LockInOverlay {
        /// The overlay on the host.
        overlay: AbsolutePath,
    },
}

impl ConfigError {
    pub(super) fn invalid(flag: &'static str, value: &str, cause: impl Into<Cause>) -> Self {
        Self::Invalid {
            flag,
            value: value.to_owned(),
            cause: cause.into(),
        }
    }
}
