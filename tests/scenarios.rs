//! The scenario files beside this one, played to the built plugin.

use std::path::{Path, PathBuf};

use fake_runtime::launch::Launch;
use fake_runtime::pod::Simulation;
use fake_runtime::replay::{Played, PluginSource};
use fake_runtime::scenario::Scenario;
use mock_node::plugin::KNOWN;

fn scenarios() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let entries = std::fs::read_dir(dir).expect("the directory is part of the project");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths
        .filter(|path| path.extension().is_some_and(|it| it == "yaml"))
        .collect()
}

#[tokio::test]
async fn every_scenario_comes_out_as_it_expects() {
    let plugin = PluginSource::Start(vec![Launch::new(env!("CARGO_BIN_EXE_nri-plugin"))]);
    let mut containers = 0;
    for path in scenarios() {
        let scenario = Scenario::read(&path)
            .unwrap_or_else(|error| panic!("{error}"))
            .unwrap_or_else(|| panic!("{} is no scenario", path.display()));
        let played = scenario
            .play(&plugin, &KNOWN, &Simulation::default(), || {})
            .await;
        let (played, _) = played.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for played in played {
            if let Played::Container { container, unmet } = played {
                assert!(
                    unmet.is_empty(),
                    "{}: {}: {unmet:?}",
                    path.display(),
                    container.name
                );
                containers += 1;
            }
        }
    }
    assert_eq!(containers, 16);
}
