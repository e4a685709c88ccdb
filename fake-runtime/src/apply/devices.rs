//! `linux.devices`, and the cgroup rules that come with a device.

use nri_proto::api::LinuxDevice;

use crate::oci::{Device, DeviceRule, Linux};

/// Adds the plugins' devices. Each opens the device control group for its numbers, whatever its mode, and
/// the rule of a device that it replaces stays.
pub(super) fn apply(linux: &mut Linux, devices: &[LinuxDevice]) {
    for device in devices {
        let access = if device.r#type == "b" { "rwm" } else { "rw" };
        put(linux, oci_device(device));
        allow(linux, &device.r#type, device.major, device.minor, access);
    }
}

pub(super) fn oci_device(device: &LinuxDevice) -> Device {
    Device {
        path: device.path.clone(),
        kind: device.r#type.clone(),
        major: device.major,
        minor: device.minor,
        file_mode: device.file_mode.map(|mode| mode.value),
        uid: device.uid.map(|uid| uid.value),
        gid: device.gid.map(|gid| gid.value),
    }
}

/// Adds a device in place of the one that the path has. The new one comes last, unless the spec has the
/// path twice: then it takes the second one's place.
pub(super) fn put(linux: &mut Linux, device: Device) {
    let devices = &mut linux.devices;
    if let Some(at) = place(devices, &device.path) {
        devices.remove(at);
    }
    match place(devices, &device.path) {
        Some(at) => devices[at] = device,
        None => devices.push(device),
    }
}

fn place(devices: &[Device], path: &str) -> Option<usize> {
    devices.iter().position(|device| device.path == path)
}

/// Appends a rule that allows a device.
pub(super) fn allow(linux: &mut Linux, kind: &str, major: i64, minor: i64, access: &str) {
    let resources = linux.resources.get_or_insert_default();
    resources.devices.push(DeviceRule {
        allow: true,
        kind: kind.to_owned(),
        major: Some(major),
        minor: Some(minor),
        access: access.to_owned(),
    });
}
