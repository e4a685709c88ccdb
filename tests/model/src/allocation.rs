//! Evidence of an allocation: any one of these, and nothing else.

use nri_proto::api::{Container, LinuxDevice, LinuxDeviceCgroup};

/// The container already holds a GPU that the scheduler gave it.
pub fn is_allocated(container: Option<&Container>) -> bool {
    let Some(container) = container else {
        return false;
    };
    let by_name = container
        .cdi_devices
        .iter()
        .any(|device| is_gpu_name(&device.name));
    let Some(linux) = &container.linux else {
        return by_name;
    };
    let rules = linux
        .resources
        .iter()
        .flat_map(|resources| &resources.devices);
    let granted = |device: &LinuxDevice| rules.clone().any(|rule| grants(rule, device));
    by_name
        || linux
            .devices
            .iter()
            .any(|device| is_gpu_node(device) && granted(device))
}

/// A CDI device of the device plugin or of the DRA driver.
fn is_gpu_name(name: &str) -> bool {
    let id = name
        .strip_prefix("k8s.device-plugin.nvidia.com/gpu=")
        .or(name.strip_prefix("k8s.gpu.nvidia.com/claim="));
    id.is_some_and(|id| !id.is_empty() && !id.contains(['/', '=', ' ']))
}

/// `/dev/nvidia<N>`, N a decimal number that fits 32 bits and is written the one way.
fn is_gpu_node(device: &LinuxDevice) -> bool {
    let number = device.path.strip_prefix("/dev/nvidia");
    device.r#type == "c"
        && number.is_some_and(|text| {
            text.parse::<u32>()
                .is_ok_and(|number| number.to_string() == text)
        })
}

/// The rule was made for this very device.
fn grants(rule: &LinuxDeviceCgroup, device: &LinuxDevice) -> bool {
    let same = |number: &Option<nri_proto::api::OptionalInt64>, wanted: i64| {
        number.as_ref().is_some_and(|number| number.value == wanted)
    };
    rule.allow
        && rule.r#type == "c"
        && same(&rule.major, device.major)
        && same(&rule.minor, device.minor)
        && rule.access.contains(['r', 'w'])
}
