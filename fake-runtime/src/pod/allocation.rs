//! GPUs that the scheduler gave a container, as a device plugin or a DRA driver hands them over.

use nri_proto::api::{
    CdiDevice, Container, LinuxContainer, LinuxDevice, LinuxDeviceCgroup, LinuxResources,
    OptionalFileMode, OptionalInt64, OptionalUInt32,
};

use super::Simulation;
use super::manifest::PodContainer;
use super::resources;

/// The resource that NVIDIA's device plugin serves.
const GPU_RESOURCE: &str = "nvidia.com/gpu";
const NVIDIA_MAJOR: i64 = 195;
const NVIDIACTL_MINOR: i64 = 255;
const EVERYBODY: u32 = 0o666;

/// Gives `message` what is allocated to `container`.
pub(super) fn allocate(message: &mut Container, container: &PodContainer, simulation: &Simulation) {
    let asked = container
        .resources
        .limits
        .get(GPU_RESOURCE)
        .and_then(resources::count);
    let gpus = simulation.gpus.or(asked).unwrap_or_default();
    let linux = message.linux.get_or_insert_default();
    if gpus > 0 {
        for gpu in 0..gpus {
            give(linux, &raw(&format!("/dev/nvidia{gpu}"), gpu.into()), "rw");
        }
        give(linux, &raw("/dev/nvidiactl", NVIDIACTL_MINOR), "rw");
    }
    for (gpu, name) in (0i64..).zip(&simulation.cdi) {
        // What CDI makes of a name is in the request in every version, without owner and mode.
        give(linux, &injected(&format!("/dev/nvidia{gpu}"), gpu), "rwm");
        if simulation.profile.requests.cdi_devices {
            message.cdi_devices.push(CdiDevice { name: name.clone() });
        }
    }
}

/// A node as CRI hands it over.
fn raw(path: &str, minor: i64) -> LinuxDevice {
    LinuxDevice {
        file_mode: Some(OptionalFileMode { value: EVERYBODY }),
        uid: Some(OptionalUInt32 { value: 0 }),
        gid: Some(OptionalUInt32 { value: 0 }),
        ..injected(path, minor)
    }
}

/// A node as CDI injects it.
fn injected(path: &str, minor: i64) -> LinuxDevice {
    LinuxDevice {
        path: path.to_owned(),
        r#type: "c".to_owned(),
        major: NVIDIA_MAJOR,
        minor,
        ..LinuxDevice::default()
    }
}

fn give(linux: &mut LinuxContainer, device: &LinuxDevice, access: &str) {
    linux.devices.push(device.clone());
    let resources: &mut LinuxResources = linux.resources.get_or_insert_default();
    resources.devices.push(LinuxDeviceCgroup {
        allow: true,
        r#type: device.r#type.clone(),
        major: Some(OptionalInt64 {
            value: device.major,
        }),
        minor: Some(OptionalInt64 {
            value: device.minor,
        }),
        access: access.to_owned(),
    });
}
