//! The OCI spec of the container that a request describes, as the runtime would have written it.

use fake_runtime::oci::Spec;
use nri_proto::api::{Container, LinuxDevice, LinuxDeviceCgroup, Mount};
use serde_json::{Value, json};

/// The spec before any plugin is asked.
pub(crate) fn before(container: Option<&Container>) -> Spec {
    let container = container.cloned().unwrap_or_default();
    let linux = container.linux.unwrap_or_default();
    let rules = linux.resources.unwrap_or_default().devices;
    let spec = json!({
        "process": { "user": { "uid": 0, "gid": 0 }, "cwd": "/", "env": container.env },
        "mounts": container.mounts.iter().map(mount).collect::<Value>(),
        "linux": {
            "devices": linux.devices.iter().map(device).collect::<Value>(),
            "resources": { "devices": rules.iter().map(rule).collect::<Value>() },
        },
    });
    serde_json::from_value(spec).unwrap()
}

fn mount(mount: &Mount) -> Value {
    json!({
        "destination": mount.destination,
        "type": mount.r#type,
        "source": mount.source,
        "options": mount.options,
    })
}

fn device(device: &LinuxDevice) -> Value {
    json!({
        "path": device.path,
        "type": device.r#type,
        "major": device.major,
        "minor": device.minor,
    })
}

fn rule(rule: &LinuxDeviceCgroup) -> Value {
    let mut value = json!({ "allow": rule.allow, "type": rule.r#type, "access": rule.access });
    for (name, number) in [("major", &rule.major), ("minor", &rule.minor)] {
        if let Some(number) = number {
            value[name] = number.value.into();
        }
    }
    value
}
