//! The devices of an adjusted container.

use std::collections::BTreeSet;

use nri_proto::api::{CdiDevice, Container, LinuxDevice, OptionalFileMode, OptionalUInt32};

use crate::clean::join;
use crate::settings::Settings;
use crate::tree::{Device, Node};
use crate::{Runtime, Warning, World, cdi, user_namespace};

/// A node to be handed out, and where it is staged.
#[derive(Clone, Debug, PartialEq)]
pub struct Handed {
    /// The node.
    pub device: LinuxDevice,
    /// Its file on the host.
    pub staged: String,
}

/// Every mock GPU, for the management opt-in: by CDI name or as nodes, never both.
pub fn gpus(
    settings: &Settings,
    world: &World,
    container: Option<&Container>,
    warnings: &mut BTreeSet<Warning>,
) -> (Vec<CdiDevice>, Vec<Handed>) {
    // These drop CDI devices without a word.
    let drops = [Runtime::ContainerdBefore2_1, Runtime::CriOBefore1_34].contains(&world.runtime);
    if settings.cdi_mode && !drops && !user_namespace::has(container) {
        match cdi::name(settings, world) {
            cdi::Name::Resolves => {
                let name = settings.cdi_device.clone();
                return (vec![CdiDevice { name }], Vec::new());
            }
            cdi::Name::Unresolved => warnings.insert(Warning::NoCdiSpec),
            cdi::Name::HeldBack => warnings.insert(Warning::CdiNodesHeldBack),
        };
    }
    let names = entries(world, &settings.device_host, "nvidia");
    if names.is_empty() {
        warnings.insert(Warning::NoGpuNodes);
    }
    let nodes = names.iter().filter_map(|name| {
        let staged = join(&settings.device_host, name);
        node(settings, world, staged, format!("/dev/{name}"), warnings)
    });
    (Vec::new(), nodes.collect())
}

/// Every IMEX channel that the container does not have already.
pub fn imex_channels(
    settings: &Settings,
    world: &World,
    container: Option<&Container>,
    warnings: &mut BTreeSet<Warning>,
) -> Vec<Handed> {
    let linux = container.and_then(|container| container.linux.as_ref());
    let own: Vec<&LinuxDevice> = linux.iter().flat_map(|linux| &linux.devices).collect();
    let has = |new: &Handed| {
        let new = &new.device;
        own.iter().any(|own| {
            own.path == new.path
                && own.r#type == new.r#type
                && own.major == new.major
                && own.minor == new.minor
        })
    };
    let names = entries(world, &settings.imex_host, "channel");
    if names.is_empty() {
        warnings.insert(Warning::NoImexChannels);
    }
    let nodes = names.iter().filter_map(|name| {
        let staged = join(&settings.imex_host, name);
        let path = format!("/dev/nvidia-caps-imex-channels/{name}");
        node(settings, world, staged, path, warnings)
    });
    nodes
        .collect::<Vec<_>>()
        .into_iter()
        .filter(|new| !has(new))
        .collect()
}

/// Names directly in a directory that start so and are not themselves directories, sorted as bytes.
fn entries(world: &World, directory: &str, prefix: &str) -> Vec<String> {
    let entries = world.tree.list(directory).unwrap_or_default();
    let wanted =
        |(name, node): &(&str, &Node)| name.starts_with(prefix) && **node != Node::Directory;
    entries
        .into_iter()
        .filter(wanted)
        .map(|(name, _)| name.to_owned())
        .collect()
}

/// Whether the node would open a real GPU, and that is guarded against.
pub fn is_real(settings: &Settings, world: &World, device: &Device) -> bool {
    settings.gates.real_driver_guard && world.nvidia_majors.contains(&device.major.into())
}

/// The node on the wire, if what is staged is a character device that may be handed out.
fn node(
    settings: &Settings,
    world: &World,
    staged: String,
    path: String,
    warnings: &mut BTreeSet<Warning>,
) -> Option<Handed> {
    let Some(Node::Character(device)) = world.tree.stat(&staged) else {
        warnings.insert(Warning::NotACharacterDevice);
        return None;
    };
    if is_real(settings, world, device) {
        warnings.insert(Warning::RealDriver);
        return None;
    }
    let device = LinuxDevice {
        path,
        r#type: "c".into(),
        major: device.major.into(),
        minor: device.minor.into(),
        file_mode: Some(OptionalFileMode {
            value: device.mode & 0o777,
        }),
        uid: Some(OptionalUInt32 { value: device.uid }),
        gid: Some(OptionalUInt32 { value: device.gid }),
    };
    Some(Handed { device, staged })
}
