//! The environment that makes a process find the mock driver.

use std::collections::BTreeMap;

use super::runtime::Runtime;
use super::staged::Staged;
use super::surfaces::Surfaces;
use crate::config::Config;

/// Where a shell looks for programs.
const PATH: &str = "PATH";

/// What becomes of the container's environment.
pub(super) struct Environment {
    /// The keys that are new or change. A key that stays the same is never among them: claiming it would make
    /// another plugin's edit of it a conflict that fails the container.
    pub(super) changed: Vec<(String, String)>,
    /// Those of them that the container sets twice: the runtime replaces the first, and the last wins.
    pub(super) repeated: Vec<String>,
}

/// The environment that goes with the overlay.
pub(super) fn overlay(
    config: &Config,
    surfaces: Surfaces,
    staged: &impl Staged,
    own: &[String],
    runtime: Runtime,
) -> Environment {
    let mut environment = merge(table(config, surfaces, staged), own);
    if runtime.repeats_path {
        environment.repeated.retain(|key| key != PATH);
    }
    environment
}

/// The environment of a ComputeDomain daemon.
pub(super) fn daemon(config: &Config, own: &[String]) -> Environment {
    merge(vec![topology_config(config)], own)
}

/// One variable, and what becomes of the container's own value.
struct Variable {
    key: &'static str,
    value: String,
    rule: Rule,
}

/// How a value meets the one that the container brings.
#[derive(Clone, Copy)]
enum Rule {
    /// In front of it, separated by `:`.
    Before,
    /// Behind it, separated by `:`.
    Behind,
    /// Only when the container does not set the key, to nothing either.
    IfUnset,
    /// Over it.
    Always,
}

fn topology_config(config: &Config) -> Variable {
    Variable {
        key: "MOCK_TOPOLOGY_CONFIG",
        rule: Rule::IfUnset,
        value: config.topology_mount_path.to_string(),
    }
}

/// The variables, in the order in which new ones are added.
fn table(config: &Config, surfaces: Surfaces, staged: &impl Staged) -> Vec<Variable> {
    let mount = &config.overlay_mount_path;
    let below = |path: &str| String::from(mount.join(path));
    let row = |key, rule, value| Variable { key, rule, value };

    let mut table = vec![
        row(PATH, Rule::Before, below("driver/usr/bin")),
        row("LD_LIBRARY_PATH", Rule::Before, below("driver/usr/lib64")),
        row(
            "LD_PRELOAD",
            Rule::Behind,
            config.ld_preload_shims.join(":"),
        ),
    ];
    if surfaces.gpu.is_some() {
        table.extend([
            row(
                "MOCK_NVML_CONFIG",
                Rule::IfUnset,
                below("driver/config/config.yaml"),
            ),
            row("MOCK_PCI_ROOT", Rule::IfUnset, mount.to_string()),
            row(
                "GFD_MACHINE_TYPE_FILE",
                Rule::IfUnset,
                below("driver/config/machine-type"),
            ),
        ]);
        if let Some(node) = &config.node_name
            && staged.node(&config.topology_host_path).is_ok()
        {
            table.push(row("NODE_NAME", Rule::IfUnset, node.clone()));
            table.push(topology_config(config));
        }
    } else {
        table.push(row(
            "MOCK_NVML_VISIBLE_DEVICES",
            Rule::Always,
            "none".to_owned(),
        ));
    }
    if surfaces.infiniband {
        table.extend([
            row("MOCK_IB", Rule::IfUnset, "full".to_owned()),
            row("MOCK_IB_ROOT", Rule::IfUnset, below("ib")),
            row(
                "MOCK_IB_PING_SOCKET",
                Rule::IfUnset,
                below("run/mock-ib.sock"),
            ),
        ]);
    } else {
        table.push(row("MOCK_IB", Rule::Always, "off".to_owned()));
    }
    table
}

impl Variable {
    /// The value beside the container's own, or `None` when the container keeps what it has. For the three
    /// search paths an empty one is none: images often have `LD_LIBRARY_PATH=`, and a stray `:` would stand for
    /// the working directory.
    fn beside(self, own: Option<&str>) -> Option<String> {
        let path = own.filter(|path| !path.is_empty());
        match (self.rule, own, path) {
            (Rule::Before, _, Some(path)) => Some(format!("{}:{path}", self.value)),
            (Rule::Behind, _, Some(path)) => Some(format!("{path}:{}", self.value)),
            (Rule::IfUnset, Some(_), _) => None,
            _ => Some(self.value).filter(|value| own != Some(value)),
        }
    }
}

/// A key of the container's environment.
struct Own<'a> {
    /// Where it stands first.
    place: usize,
    /// Its last value, which is the one that a process sees.
    value: &'a str,
    repeated: bool,
}

/// Applies the table: first the container's own keys in their order, then the new ones in the table's.
fn merge(table: Vec<Variable>, env: &[String]) -> Environment {
    let own = own_values(env, &table);
    let mut changed = Vec::new();
    let mut repeated = Vec::new();
    for variable in table {
        let (key, own) = (variable.key, own.get(variable.key));
        if let Some(value) = variable.beside(own.map(|own| own.value)) {
            let place = own.map_or(usize::MAX, |own| own.place);
            changed.push((place, key.to_owned(), value));
            if own.is_some_and(|own| own.repeated) {
                repeated.push(key.to_owned());
            }
        }
    }
    changed.sort_by_key(|(place, ..)| *place);
    Environment {
        changed: changed
            .into_iter()
            .map(|(_, key, value)| (key, value))
            .collect(),
        repeated,
    }
}

/// The container's values of the table's keys. An item without `=` sets nothing.
fn own_values<'a>(env: &'a [String], table: &[Variable]) -> BTreeMap<&'a str, Own<'a>> {
    let mut values: BTreeMap<&str, Own<'_>> = BTreeMap::new();
    for (place, (key, value)) in env
        .iter()
        .filter_map(|item| item.split_once('='))
        .enumerate()
    {
        if table.iter().any(|variable| variable.key == key) {
            values
                .entry(key)
                .and_modify(|own| (own.value, own.repeated) = (value, true))
                .or_insert(Own {
                    place,
                    value,
                    repeated: false,
                });
        }
    }
    values
}
