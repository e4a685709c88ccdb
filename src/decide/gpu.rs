//! Every mock GPU, for the management opt-in.

use super::devices::{self, Candidate, Lookup};
use super::runtime::Runtime;
use super::staged::Staged;
use super::warning::Warning;
use crate::config::{Config, DeviceInjectionMode};

/// How the GPUs come into the container. Never both ways, which would describe the same GPUs twice.
pub(super) enum Delivery {
    /// As one CDI device of this name.
    Cdi(String),
    /// As these nodes.
    Nodes(Vec<Candidate>),
}

/// Chooses how the GPUs are delivered. A CDI name that the runtime cannot resolve, or drops, is never used, nor
/// one that would bring a node which `lookup` holds back.
pub(super) fn delivery<S: Staged>(
    config: &Config,
    staged: &S,
    runtime: Runtime,
    lookup: &Lookup<'_, S>,
    warnings: &mut Vec<Warning>,
) -> Delivery {
    let directory = &config.device_host_path;
    let candidates = devices::candidates(staged, directory, "nvidia", "/dev");
    if config.device_injection_mode == DeviceInjectionMode::Cdi && runtime.delivers_cdi {
        match staged.node(&config.cdi_spec_host_path) {
            Err(error) => warnings.push(Warning::NoCdiSpec {
                path: config.cdi_spec_host_path.to_string(),
                cause: error.to_string(),
            }),
            // The name brings every node or none; as nodes, the others can still be had.
            Ok(_) if lookup.holds_any_back(candidates.as_deref().unwrap_or_default()) => {}
            Ok(_) => return Delivery::Cdi(config.cdi_device_name.clone()),
        }
    }
    Delivery::Nodes(candidates.unwrap_or_else(|cause| {
        warnings.push(Warning::NoGpuDevices {
            path: directory.to_string(),
            cause,
        });
        Vec::new()
    }))
}
