//! Every mock GPU, for the management opt-in.

use super::devices::{self, Candidate, Lookup};
use super::request::Container;
use super::runtime::Runtime;
use super::staged::Staged;
use super::warning::Warning;
use crate::config::{Config, DeviceInjectionMode};

/// How the GPUs come into the container. Never both ways, which would describe the same GPUs twice.
pub(super) enum Delivery<'a> {
    /// As one CDI device of this name.
    Cdi(String),
    /// As these nodes.
    Nodes(Vec<Candidate<'a>>),
}

/// Chooses how the GPUs are delivered. A CDI name that the runtime cannot resolve, or drops, is never used, nor one in a
/// user namespace, where the nodes that it brings could not be made.
pub(super) fn delivery<'a, S: Staged>(
    config: &'a Config,
    container: &Container,
    staged: &S,
    runtime: Runtime,
    lookup: &Lookup<'_, S>,
    warnings: &mut Vec<Warning>,
) -> Delivery<'a> {
    let cdi = config.device_injection_mode == DeviceInjectionMode::Cdi;
    if cdi && runtime.delivers_cdi && !container.user_namespace {
        match resolved(config, staged, lookup) {
            Ok(()) => return Delivery::Cdi(config.cdi_device_name.clone()),
            Err(warning) => warnings.push(warning),
        }
    }
    let directory = &config.device_host_path;
    let candidates = devices::candidates(staged, directory, "nvidia", "/dev");
    Delivery::Nodes(candidates.unwrap_or_else(|cause| {
        warnings.push(Warning::NoGpuDevices {
            path: directory.to_string(),
            cause,
        });
        Vec::new()
    }))
}

/// Whether the CDI name can be given: it resolves, and brings nothing that `lookup` holds back. It brings every node or
/// none; as nodes, the others can still be had.
fn resolved<S: Staged>(config: &Config, staged: &S, lookup: &Lookup<'_, S>) -> Result<(), Warning> {
    let specification = &config.cdi_spec_host_path;
    let path = || specification.to_string();
    let nodes = staged
        .cdi_nodes(
            specification,
            &config.cdi_device_name,
            &config.overlay_host_path,
        )
        .map_err(|cause| Warning::NoCdiSpec {
            path: path(),
            cause,
        })?;
    let held_back = lookup.held_back(&nodes);
    let devices: Vec<_> = held_back.map(ToString::to_string).collect();
    if devices.is_empty() {
        return Ok(());
    }
    Err(Warning::CdiNodesHeldBack {
        path: path(),
        devices,
    })
}
