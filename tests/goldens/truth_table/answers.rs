//! Each distinct adjustment once in full, as what becomes of the container.

use std::collections::BTreeMap;
use std::fmt::Write;

use fake_runtime::cdi::{CdiSpec, Registry};
use fake_runtime::changes::changes;
use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use nri_proto::api::CreateContainerRequest;
use serde_json::json;

use super::cell::Cell;
use super::diagram::{Diagram, rank};
use super::dimensions::{DIMENSIONS, RUNTIME};
use super::leaf::Leaf;
use super::table::Table;
use crate::spec;

/// Under the most ordinary combination that leads to each, the changes of the container's OCI spec.
pub(crate) fn all(table: &Table) -> String {
    let mut adjustments = Diagram::new();
    let adjustment = |leaf: &Leaf| leaf.adjustment.clone();
    let root = table.diagram.map(table.root, &mut adjustments, &adjustment);
    let examples = adjustments.examples(root);
    let mut examples: Vec<(Cell, Vec<u8>)> = examples
        .into_iter()
        .map(|(adjustment, cell)| (cell, adjustment))
        .collect();
    examples.sort_by(|(one, _), (other, _)| rank(one).cmp(&rank(other)));
    let mut text = String::new();
    for (cell, adjustment) in examples
        .iter()
        .filter(|(_, adjustment)| !adjustment.is_empty())
    {
        writeln!(text, "{cell}").unwrap();
        for (changed, versions) in by_version(table, cell, adjustment) {
            writeln!(text, "  on containerd {}\n{changed}", versions.join(", ")).unwrap();
        }
    }
    text
}

/// What the container becomes, and on which versions, of those that get this adjustment.
fn by_version(
    table: &Table,
    cell: &Cell,
    adjustment: &[u8],
) -> BTreeMap<String, Vec<&'static str>> {
    let mut changed: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (number, version) in DIMENSIONS[RUNTIME].values.iter().enumerate() {
        let mut cell = cell.clone();
        cell.0[RUNTIME] = u8::try_from(number).unwrap();
        let leaf = table.leaf(&cell);
        if leaf.adjustment == adjustment {
            changed
                .entry(applied(&cell, leaf))
                .or_default()
                .push(version);
        }
    }
    changed
}

fn applied(cell: &Cell, leaf: &Leaf) -> String {
    let container = cell.container();
    let before = spec::before(Some(&container));
    let request = CreateContainerRequest {
        pod: Some(cell.pod()),
        container: Some(container),
    };
    let answers = [(
        "10-nvml-mock".to_owned(),
        Answer::Adjust(Box::new(leaf.decoded())),
    )];
    let outcome = create(cell.profile(), request, before.clone(), &answers, &host());
    let (_, after) = outcome.result.expect("an answer that the runtime takes");
    let mut text = String::new();
    for change in changes(&before, &after) {
        writeln!(text, "    {change}").unwrap();
    }
    text
}

/// A node whose CDI specification names the mock GPUs.
fn host() -> Host {
    let spec: CdiSpec = serde_json::from_value(json!({
        "cdiVersion": "0.6.0",
        "kind": "nvml-mock.nvidia.com/gpu",
        "devices": [{
            "name": "all",
            "containerEdits": {
                "deviceNodes": [{ "path": "/dev/nvidia0", "type": "c", "major": 195, "minor": 0 }],
            },
        }],
    }))
    .unwrap();
    Host {
        cdi: Registry::from(vec![spec]),
        ..Default::default()
    }
}
