//! What is known of the runtime.

use std::time::Duration;

use nri_proto::api::ConfigureRequest;

/// The request timeout of a runtime that tells none: what NRI's own client library assumes.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// What Configure told of the runtime. Before it, everything is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runtime {
    /// Its name: `containerd`, `cri-o`.
    pub name: String,
    /// Its version, as it writes it.
    pub version: String,
    /// The version of its NRI; empty before NRI 0.12.
    pub nri_version: String,
    /// The plugin's own configuration, where the runtime keeps one for it; only plugins that the runtime started get one.
    pub config: String,
    /// How many milliseconds it gives a plugin to register; 0 where it does not say, as before containerd 2.0.
    pub registration_timeout_ms: u64,
    /// How many milliseconds it gives a request; 0 where it does not say.
    pub request_timeout_ms: u64,
    /// The runtime started this process, and passed the connection on.
    pub prelaunched: bool,
}

impl Runtime {
    pub(crate) fn told(told: ConfigureRequest, prelaunched: bool) -> Self {
        Self {
            name: told.runtime_name,
            version: told.runtime_version,
            nri_version: told.nri_version,
            config: told.config,
            registration_timeout_ms: u64::try_from(told.registration_timeout).unwrap_or(0),
            request_timeout_ms: u64::try_from(told.request_timeout).unwrap_or(0),
            prelaunched,
        }
    }

    /// How long it waits for an answer: as it said, or else 2 s.
    #[must_use]
    pub fn request_timeout(&self) -> Duration {
        match self.request_timeout_ms {
            0 => REQUEST_TIMEOUT,
            told => Duration::from_millis(told),
        }
    }
}
