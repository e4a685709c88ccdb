//! Whether a program sees what the OCI spec of its container promises.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Inside;

/// What a node without a mode of its own is given by runc.
const DEFAULT_DEVICE_MODE: u64 = 0o666;

/// The options of a mount that a program can see as such.
const VISIBLE_OPTIONS: [&str; 5] = ["ro", "rw", "nosuid", "nodev", "noexec"];

/// # Panics
///
/// At the first variable, mount or device of `spec` that is not seen as it says.
pub(super) fn assert_agrees(inside: &Inside, spec: &Value) {
    // Of a key that stands twice, runc passes on the last value.
    let promised: BTreeMap<&str, &str> = strings(&spec["process"]["env"])
        .filter_map(|variable| variable.split_once('='))
        .collect();
    for (key, value) in promised {
        assert_eq!(inside.env(key), Some(value), "{key}, by the OCI spec");
    }
    // The others are the runtime's own, and it composes /sys/fs/cgroup in its own way.
    for mount in list(&spec["mounts"]).filter(|mount| mount["type"] == "bind") {
        let path = mount["destination"].as_str().unwrap_or_default();
        let seen = inside.mount(path);
        let seen = seen.unwrap_or_else(|| panic!("no mount at {path}, which the OCI spec has"));
        for option in strings(&mount["options"]).filter(|option| VISIBLE_OPTIONS.contains(option)) {
            let has = seen.options.iter().any(|seen| seen == option);
            assert!(has, "{path} is not {option}, but {:?}", seen.options);
        }
    }
    for device in list(&spec["linux"]["devices"]).filter(|device| device["type"] == "c") {
        let path = device["path"].as_str().unwrap_or_default();
        let seen = inside.devices.iter().find(|seen| seen.path == path);
        let seen = seen.unwrap_or_else(|| panic!("no {path}, which the OCI spec has"));
        let number = |key: &str, default: u64| device[key].as_u64().unwrap_or(default);
        assert_eq!(
            [seen.major, seen.minor, seen.mode, seen.uid, seen.gid].map(u64::from),
            [
                number("major", 0),
                number("minor", 0),
                number("fileMode", DEFAULT_DEVICE_MODE) & 0o7777,
                number("uid", 0),
                number("gid", 0),
            ],
            "{path} (major, minor, mode, uid, gid), by the OCI spec"
        );
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    list(value).filter_map(Value::as_str)
}
