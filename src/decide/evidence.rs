//! Evidence that the scheduler gave the container a GPU. Nothing but what is listed here counts, because a
//! container that is taken for allocated is never given more than it has.

use std::collections::HashSet;
use std::fmt;

use super::request::{Container, Device, DeviceRule};

/// Device classes of the NVIDIA device plugin and the DRA driver. Whatever else is in a CDI name, our own
/// `nvml-mock.nvidia.com/gpu` too, is no allocation.
const ALLOCATION_CLASSES: [&str; 2] = [
    "k8s.device-plugin.nvidia.com/gpu=",
    "k8s.gpu.nvidia.com/claim=",
];

/// What shows that a container holds a GPU that the scheduler gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence<'a> {
    /// A CDI device of the device plugin or of the DRA driver, by its name.
    CdiDevice(&'a str),
    /// A GPU's device node with a grant of its own, by the node's path.
    GrantedDevice(&'a str),
}

impl fmt::Display for Evidence<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CdiDevice(name) => write!(formatter, "CDI device {name}"),
            Self::GrantedDevice(path) => write!(formatter, "{path} with a grant of its own"),
        }
    }
}

impl<'a> Evidence<'a> {
    /// The first evidence in what the container holds already.
    pub fn of(container: &'a Container) -> Option<Self> {
        let mut names = container.cdi_devices.iter();
        match names.find(|name| is_allocated_cdi(name)) {
            Some(name) => Some(Self::CdiDevice(name)),
            None => granted_gpu(container).map(|gpu| Self::GrantedDevice(&gpu.path)),
        }
    }
}

fn is_allocated_cdi(name: &str) -> bool {
    let device = ALLOCATION_CLASSES
        .iter()
        .find_map(|class| name.strip_prefix(class));
    device.is_some_and(|device| !device.is_empty() && !device.contains(['/', '=', ' ']))
}

/// A privileged container has the nodes too, but one rule without numbers: only a grant of a node's own
/// numbers shows that somebody handed it out.
fn granted_gpu(container: &Container) -> Option<&Device> {
    let granted: HashSet<(i64, i64)> = container
        .device_rules
        .iter()
        .filter_map(own_grant)
        .collect();
    container
        .devices
        .iter()
        .find(|device| is_gpu(device) && granted.contains(&(device.major, device.minor)))
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
