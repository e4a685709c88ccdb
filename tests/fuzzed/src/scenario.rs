//! Scenario files.

use std::path::Path;

use fake_runtime::pod::Simulation;
use fake_runtime::requests::in_document;
use fake_runtime::runtime::Fault;
use fake_runtime::scenario::{Action, Scenario, Source};

use crate::assert_one_line;

/// A scenario file. Nothing that it names is opened, and nothing is staged.
pub fn scenario(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let scenario = match Scenario::in_text(Path::new("dir/scenario"), text) {
        Ok(Some(scenario)) => scenario,
        Ok(None) => return,
        Err(error) => return assert_one_line(error),
    };
    assert!(
        scenario
            .files()
            .all(|file| file.is_absolute() || file.starts_with("dir"))
    );
    scenario.faults.iter().for_each(fault);
    scenario.inventory.iter().for_each(source);
    for step in &scenario.steps {
        match &step.action {
            Action::Create(it) | Action::Run(it) => source(it),
            Action::CreateAtOnce(both) => both.iter().for_each(source),
            Action::Fault(it) => fault(it),
            Action::Update(_) | Action::Stop(_) | Action::Remove(_) => {}
        }
    }
}

fn fault(fault: &Fault) {
    assert_one_line(fault);
    let written = serde_json::to_string(fault).expect("it has a JSON form");
    assert_eq!(
        serde_json::from_str::<Fault>(&written).ok().as_ref(),
        Some(fault)
    );
}

fn source(source: &Source) {
    if let Source::Inline(document) = source {
        match in_document(Path::new("dir/scenario"), document, &Simulation::default()) {
            Ok(requests) => assert!(!requests.is_empty()),
            Err(error) => assert_one_line(error),
        }
    }
}
