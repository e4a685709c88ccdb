//! Evidence that the scheduler gave the container a GPU. Nothing but what is listed here counts, because a
//! container that is taken for allocated is never given more than it has.

use std::collections::HashSet;

use super::request::{Container, Device, DeviceRule};

/// Device classes of the NVIDIA device plugin and the DRA driver. Whatever else is in a CDI name, our own
/// `nvml-mock.nvidia.com/gpu` too, is no allocation.
const ALLOCATION_CLASSES: [&str; 2] = [
    "k8s.device-plugin.nvidia.com/gpu=",
    "k8s.gpu.nvidia.com/claim=",
];

/// Whether the container already holds a GPU that the scheduler gave it.
pub(super) fn is_allocated(container: &Container) -> bool {
    container
        .cdi_devices
        .iter()
        .any(|name| is_allocated_cdi(name))
        || holds_granted_gpu(container)
}

fn is_allocated_cdi(name: &str) -> bool {
    let device = ALLOCATION_CLASSES
        .iter()
        .find_map(|class| name.strip_prefix(class));
    device.is_some_and(|device| !device.is_empty() && !device.contains(['/', '=', ' ']))
}

/// A privileged container has the nodes too, but one rule without numbers: only a grant of a node's own
/// numbers shows that somebody handed it out.
fn holds_granted_gpu(container: &Container) -> bool {
    let granted: HashSet<(i64, i64)> = container
        .device_rules
        .iter()
        .filter_map(own_grant)
        .collect();
    container
        .devices
        .iter()
        .any(|device| is_gpu(device) && granted.contains(&(device.major, device.minor)))
}

fn own_grant(rule: &DeviceRule) -> Option<(i64, i64)> {
    let opens = rule.allow && rule.kind == "c" && rule.access.contains(['r', 'w']);
    if opens {
        rule.major.zip(rule.minor)
    } else {
        None
    }
}

/// A numbered GPU; not the control nodes beside it.
fn is_gpu(device: &Device) -> bool {
    let number = device.path.strip_prefix("/dev/nvidia").unwrap_or_default();
    let canonical = number == "0" || !number.starts_with('0');
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    device.kind == "c" && digits && canonical && number.parse::<u32>().is_ok()
}
