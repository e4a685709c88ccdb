//! The table in parts, each small enough to be checked by reading.

use std::collections::BTreeSet;

use nri_proto::api::{LinuxDevice, Mount};

use super::leaf::{ADJUSTED, Leaf};
use super::rules::rules;
use super::table::Table;

/// Every part: the golden's name, and its text.
pub(crate) fn all(table: &Table) -> Vec<(&'static str, String)> {
    vec![
        ("verdict", verdict(table)),
        ("mounts_and_devices", mounts_and_devices(table)),
        ("environment", environment(table)),
        ("warnings", warnings(table)),
    ]
}

fn verdict(table: &Table) -> String {
    let verdict = |leaf: &Leaf| {
        // What a container is told that gets something stands among the warnings.
        let warnings = if leaf.decided() {
            ""
        } else {
            &leaf.warnings.join("; ")
        };
        let but = if warnings.is_empty() {
            ""
        } else {
            ", but warn: "
        };
        Some(format!("{}{but}{warnings}", leaf.verdict))
    };
    section("Whether the container gets anything", table, verdict)
}

fn mounts_and_devices(table: &Table) -> String {
    let channel = |device: &&LinuxDevice| device.path.contains("caps-imex-channels");
    let parts = [
        section("Mounts", table, |leaf| {
            part(leaf, |adjustment| {
                adjustment.mounts.iter().map(mounted).collect()
            })
        }),
        section("GPU nodes", table, |leaf| {
            part(leaf, |adjustment| {
                let devices = adjustment.linux.unwrap_or_default().devices;
                devices
                    .iter()
                    .filter(|device| !channel(device))
                    .map(node)
                    .collect()
            })
        }),
        section("CDI devices", table, |leaf| {
            part(leaf, |adjustment| {
                adjustment
                    .cdi_devices
                    .into_iter()
                    .map(|device| device.name)
                    .collect()
            })
        }),
        section("IMEX channels", table, |leaf| {
            part(leaf, |adjustment| {
                let devices = adjustment.linux.unwrap_or_default().devices;
                devices.iter().filter(channel).map(node).collect()
            })
        }),
    ];
    of_the_adjusted(&parts.join("\n"))
}

fn of_the_adjusted(parts: &str) -> String {
    format!("Of a container that gets something; `verdict` says which do.\n\n{parts}")
}

fn environment(table: &Table) -> String {
    let leaves = table.diagram.examples(table.root);
    let pairs = leaves.keys().flat_map(|leaf| leaf.decoded().env);
    let keys: BTreeSet<String> = pairs.map(|pair| pair.key).collect();
    let parts = keys.iter().map(|key| {
        section(key, table, |leaf| {
            part(leaf, |adjustment| {
                let pairs = adjustment.env.into_iter().filter(|pair| pair.key == *key);
                pairs.map(|pair| pair.value).collect()
            })
        })
    });
    of_the_adjusted(&parts.collect::<Vec<_>>().join("\n"))
}

fn warnings(table: &Table) -> String {
    let leaves = table.diagram.examples(table.root);
    let decided = leaves.keys().filter(|leaf| leaf.decided());
    let texts: BTreeSet<&String> = decided.flat_map(|leaf| &leaf.warnings).collect();
    let parts = texts.into_iter().map(|text| {
        section(text, table, |leaf| {
            let warned = if leaf.warnings.contains(text) {
                "warn"
            } else {
                "-"
            };
            leaf.decided().then(|| warned.to_owned())
        })
    });
    parts.collect::<Vec<_>>().join("\n")
}

fn section(title: &str, table: &Table, value: impl Fn(&Leaf) -> Option<String>) -> String {
    format!("{title}\n{}", rules(&table.diagram, table.root, value))
}

/// A part of the adjustment, of a container that gets one.
fn part(
    leaf: &Leaf,
    items: impl FnOnce(nri_proto::api::ContainerAdjustment) -> Vec<String>,
) -> Option<String> {
    (leaf.verdict == ADJUSTED).then(|| {
        let items = items(leaf.decoded());
        if items.is_empty() {
            "-".into()
        } else {
            items.join(", ")
        }
    })
}

fn mounted(mount: &Mount) -> String {
    let access = mount
        .options
        .iter()
        .find(|option| *option == "ro" || *option == "rw");
    format!(
        "{} {}",
        mount.destination,
        access.map_or("", String::as_str)
    )
}

fn node(device: &LinuxDevice) -> String {
    format!("{} {}:{}", device.path, device.major, device.minor)
}
