//! The environment of an adjusted container.

use std::collections::BTreeSet;

use nri_proto::api::{Container, KeyValue};

use crate::clean::join;
use crate::decision::Surfaces;
use crate::settings::Settings;
use crate::{Runtime, Warning, World};

/// How a value meets the one that the container has.
enum How {
    InFront,
    Behind,
    IfUnset,
    Always,
}

/// The keys that are new or whose value changes: the container's own in their order, then the new ones.
pub fn changed(
    settings: &Settings,
    world: &World,
    surfaces: Surfaces,
    container: Option<&Container>,
    warnings: &mut BTreeSet<Warning>,
) -> Vec<KeyValue> {
    let own = own(container);
    let table = table(settings, world, surfaces);
    let mut changed = Vec::new();
    for (key, old) in &own {
        let Some((_, value, how)) = table.iter().find(|(name, _, _)| name == key) else {
            continue;
        };
        let new = merge(Some(old), value, how);
        if &new != old {
            changed.push(pair(key, &new));
            // Of PATH on CRI-O it was said at registration.
            let said =
                key == "PATH" && [Runtime::CriOBefore1_34, Runtime::CriO].contains(&world.runtime);
            if times(container, key) > 1 && !said {
                warnings.insert(Warning::RepeatedKey(key.clone()));
            }
        }
    }
    for (key, value, how) in &table {
        if own.iter().all(|(name, _)| name != key) {
            changed.push(pair(key, &merge(None, value, how)));
        }
    }
    changed
}

/// The one key of a ComputeDomain daemon.
pub fn topology_if_unset(settings: &Settings, container: Option<&Container>) -> Vec<KeyValue> {
    if own(container)
        .iter()
        .any(|(key, _)| key == "MOCK_TOPOLOGY_CONFIG")
    {
        return Vec::new();
    }
    vec![pair("MOCK_TOPOLOGY_CONFIG", &settings.topology_mount)]
}

fn table(
    settings: &Settings,
    world: &World,
    surfaces: Surfaces,
) -> Vec<(&'static str, String, How)> {
    let mounted = |below: &str| join(&settings.overlay_mount, below);
    let mut table = vec![
        ("PATH", mounted("driver/usr/bin"), How::InFront),
        ("LD_LIBRARY_PATH", mounted("driver/usr/lib64"), How::InFront),
        ("LD_PRELOAD", settings.shims.join(":"), How::Behind),
    ];
    if surfaces.gpu() {
        table.push((
            "MOCK_NVML_CONFIG",
            mounted("driver/config/config.yaml"),
            How::IfUnset,
        ));
        table.push((
            "MOCK_PCI_ROOT",
            settings.overlay_mount.clone(),
            How::IfUnset,
        ));
        table.push((
            "GFD_MACHINE_TYPE_FILE",
            mounted("driver/config/machine-type"),
            How::IfUnset,
        ));
        if let Some(node) = &settings.node_name
            && world.tree.exists(&settings.topology_host)
        {
            table.push(("NODE_NAME", node.clone(), How::IfUnset));
            table.push((
                "MOCK_TOPOLOGY_CONFIG",
                settings.topology_mount.clone(),
                How::IfUnset,
            ));
        }
    } else {
        table.push(("MOCK_NVML_VISIBLE_DEVICES", "none".into(), How::Always));
    }
    if surfaces.infiniband {
        table.push(("MOCK_IB", "full".into(), How::IfUnset));
        table.push(("MOCK_IB_ROOT", mounted("ib"), How::IfUnset));
        table.push((
            "MOCK_IB_PING_SOCKET",
            mounted("run/mock-ib.sock"),
            How::IfUnset,
        ));
    } else {
        table.push(("MOCK_IB", "off".into(), How::Always));
    }
    table
}

fn merge(old: Option<&String>, new: &str, how: &How) -> String {
    match (how, old) {
        (How::Always, _) => new.into(),
        (How::IfUnset, Some(old)) => old.clone(),
        // Of a search path, empty is as good as unset.
        (How::InFront, Some(old)) if !old.is_empty() => format!("{new}:{old}"),
        (How::Behind, Some(old)) if !old.is_empty() => format!("{old}:{new}"),
        _ => new.into(),
    }
}

/// The container's keys, each at its first place with its last value.
fn own(container: Option<&Container>) -> Vec<(String, String)> {
    let mut own: Vec<(String, String)> = Vec::new();
    for item in container.iter().flat_map(|container| &container.env) {
        if let Some((key, value)) = item.split_once('=') {
            match own.iter_mut().find(|(name, _)| name == key) {
                Some(seen) => seen.1 = value.into(),
                None => own.push((key.into(), value.into())),
            }
        }
    }
    own
}

fn times(container: Option<&Container>, key: &str) -> usize {
    let items = container.iter().flat_map(|container| &container.env);
    items
        .filter(|item| item.split_once('=').is_some_and(|(name, _)| name == key))
        .count()
}

fn pair(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: value.into(),
    }
}
