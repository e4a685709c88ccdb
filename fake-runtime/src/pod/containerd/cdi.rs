//! CDI devices asked for over CRI: containerd injects them before it asks any plugin.

use nri_proto::api::{
    Container, LinuxDevice, LinuxDeviceCgroup, Mount, OptionalFileMode, OptionalInt64,
    OptionalUInt32,
};

use crate::apply;
use crate::collect::Combined;
use crate::create_error::{CreateError, Reason};
use crate::host::Host;
use crate::oci::{self, Spec};
use crate::profile::Profile;

/// The container with what the devices of these names bring.
pub(super) fn inject(
    profile: &Profile,
    host: &Host,
    mut container: Container,
    names: Vec<String>,
) -> Result<Container, CreateError> {
    let id = container.id.clone();
    let told = |reason: Reason| reason.told(profile, &id);
    let edits = host.cdi.resolve(&names);
    let edits = edits.map_err(|names| told(Reason::UnresolvableCdi(names)))?;
    let adjustment = Combined {
        cdi_devices: names,
        ..Default::default()
    };
    let spec = apply::apply(profile, Spec::of(&container, profile), &adjustment, host);
    let spec = spec.map_err(told)?;
    container.env = spec.process.env;
    container.mounts = spec.mounts.iter().map(mount).collect();
    if profile.cdi.sorts_mounts_by_path && !edits.mounts.is_empty() {
        let depth = |path: &str| path.matches('/').count();
        container
            .mounts
            .sort_by_key(|it| (depth(&it.destination), it.destination.clone()));
    }
    if let Some(linux) = &mut container.linux {
        linux.devices = spec.linux.devices.into_iter().map(device).collect();
        let rules = spec.linux.resources.unwrap_or_default().devices;
        linux.resources.get_or_insert_default().devices = rules.into_iter().map(rule).collect();
    }
    Ok(container)
}

fn mount(mount: &oci::Mount) -> Mount {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    Mount {
        destination: text(mount.destination()),
        r#type: mount.typ().clone().unwrap_or_default(),
        source: mount.source().as_deref().map(text).unwrap_or_default(),
        options: mount.options().clone().unwrap_or_default(),
    }
}

fn device(device: oci::Device) -> LinuxDevice {
    let id = |value: u32| OptionalUInt32 { value };
    LinuxDevice {
        path: device.path,
        r#type: device.kind,
        major: device.major,
        minor: device.minor,
        file_mode: device.file_mode.map(|value| OptionalFileMode { value }),
        uid: device.uid.map(id),
        gid: device.gid.map(id),
    }
}

fn rule(rule: oci::DeviceRule) -> LinuxDeviceCgroup {
    let number = |value: i64| OptionalInt64 { value };
    LinuxDeviceCgroup {
        allow: rule.allow,
        r#type: rule.kind,
        major: rule.major.map(number),
        minor: rule.minor.map(number),
        access: rule.access,
    }
}
