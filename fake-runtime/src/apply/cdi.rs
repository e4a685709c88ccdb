//! Injecting CDI devices.

use std::collections::HashMap;

use super::{add_hook, devices, mounts, oci_hook, unless_empty};
use crate::cdi::{CdiMount, DeviceNode};
use crate::create_error::Reason;
use crate::host::Host;
use crate::oci::{Device, Mount, Spec};
use crate::profile::CdiInjection;

/// Injects the devices of these names.
pub(super) fn inject(
    how: CdiInjection,
    spec: &mut Spec,
    names: &[String],
    host: &Host,
) -> Result<(), Reason> {
    if names.is_empty() {
        return Ok(());
    }
    let edits = host.cdi.resolve(names).map_err(Reason::UnresolvableCdi)?;
    env(how, &mut spec.process.env, &edits.env);
    // Even when no device adds a rule, there are resources afterwards.
    spec.linux.resources.get_or_insert_default();
    for node in &edits.device_nodes {
        device(how, spec, node, host)?;
    }
    for mount in &edits.mounts {
        mounts::remove(&mut spec.mounts, &mount.container_path);
        spec.mounts.push(oci_mount(mount));
    }
    if !edits.mounts.is_empty() {
        // By depth alone, so that mounts of one depth keep their order.
        spec.mounts
            .sort_by_key(|mount| mounts::depth(mounts::destination(mount)));
    }
    for hook in &edits.hooks {
        let injected = oci_hook(&hook.path, &hook.args, &hook.env, hook.timeout);
        add_hook(spec, &hook.hook_name, injected);
    }
    for gid in edits.additional_gids.into_iter().filter(|gid| *gid != 0) {
        let gids = spec
            .process
            .user
            .additional_gids_mut()
            .get_or_insert_default();
        if !gids.contains(&gid) {
            gids.push(gid);
        }
    }
    Ok(())
}

/// Appends variables. One that comes twice within this injection takes the first one's place; whether
/// that holds for one that the container has, the version decides.
fn env(how: CdiInjection, env: &mut Vec<String>, set: &[String]) {
    // Before CDI 1.1.1 the table of what is there is by whole entries, although it is asked for keys.
    let known = |entry: &str| {
        let key = if how.replaces_env { key(entry) } else { entry };
        key.to_owned()
    };
    let mut places: HashMap<_, _> = env
        .iter()
        .enumerate()
        .map(|(place, entry)| (known(entry), place))
        .collect();
    for entry in set {
        match places.get(key(entry)) {
            Some(place) => env[*place].clone_from(entry),
            None => {
                places.insert(key(entry).to_owned(), env.len());
                env.push(entry.clone());
            }
        }
    }
}

fn key(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(key, _)| key)
}

fn device(
    how: CdiInjection,
    spec: &mut Spec,
    node: &DeviceNode,
    host: &Host,
) -> Result<(), Reason> {
    let path = node.path_on_host();
    let on_host = host.nodes.get(path);
    let mut device = Device {
        path: node.path.clone(),
        kind: node.kind.clone(),
        major: node.major,
        minor: node.minor,
        file_mode: node.file_mode,
        uid: node.uid.or(not_root(spec.process.user.uid())),
        gid: node.gid.or(not_root(spec.process.user.gid())),
    };
    let complete = !device.kind.is_empty() && (device.major != 0 || device.kind == "p");
    if !complete {
        let on_host = on_host.ok_or_else(|| Reason::NoHostDevice(path.to_owned()))?;
        if device.kind.is_empty() {
            device.kind.clone_from(&on_host.kind);
        }
        if device.major == 0 && device.kind != "p" {
            (device.major, device.minor) = (on_host.major, on_host.minor);
        }
    }
    if how.host_file_mode && device.file_mode.is_none() {
        device.file_mode = on_host.map(|on_host| on_host.mode);
    }
    let access = match node.permissions.as_str() {
        "" => "rwm",
        permissions => permissions,
    };
    let Device {
        kind, major, minor, ..
    } = device.clone();
    devices::put(&mut spec.linux, device);
    if matches!(kind.as_str(), "b" | "c") {
        devices::allow(&mut spec.linux, &kind, major, minor, access);
    }
    Ok(())
}

fn not_root(id: u32) -> Option<u32> {
    (id != 0).then_some(id)
}

fn oci_mount(mount: &CdiMount) -> Mount {
    let mut injected = Mount::default();
    injected
        .set_destination(mount.container_path.as_str().into())
        .set_source(Some(mount.host_path.as_str().into()))
        .set_typ((!mount.kind.is_empty()).then(|| mount.kind.clone()))
        .set_options(unless_empty(&mount.options));
    injected
}
