//! Containers in a user namespace: mounts in place of device nodes.

use nri_proto::api::{Container, LinuxDeviceCgroup, Mount, OptionalInt64};

use crate::devices::Handed;
use crate::{Runtime, World, mounts, volumes};

/// Whether the container is in one.
pub fn has(container: Option<&Container>) -> bool {
    let linux = container.and_then(|container| container.linux.as_ref());
    let mut namespaces = linux.iter().flat_map(|linux| &linux.namespaces);
    namespaces.any(|namespace| namespace.r#type == "user")
}

/// The mounts of those nodes that have room, and the rules that let them be opened.
pub fn mounts_and_rules(
    world: &World,
    container: Option<&Container>,
    nodes: &[Handed],
) -> (Vec<Mount>, Vec<LinuxDeviceCgroup>) {
    let mounted: Vec<&Handed> = nodes
        .iter()
        .filter(|handed| volumes::is_free(&handed.device.path, container))
        .collect();
    let mount = |handed: &&Handed| {
        let options = "bind rprivate rw nosuid noexec";
        mounts::bind(&handed.staged, &handed.device.path, options)
    };
    let rule = |handed: &&Handed| LinuxDeviceCgroup {
        allow: true,
        r#type: "c".into(),
        major: Some(OptionalInt64 {
            value: handed.device.major,
        }),
        minor: Some(OptionalInt64 {
            value: handed.device.minor,
        }),
        access: "rw".into(),
    };
    let rules = if world.runtime == Runtime::Containerd2_2 {
        mounted.iter().map(rule).collect()
    } else {
        Vec::new()
    };
    (mounted.iter().map(mount).collect(), rules)
}
