//! Manifests in the shapes that people have. They are inputs for fuzzing, too, and begin with an empty line for that: the
//! first byte chooses the runtime's version there.

use std::fs;

use fake_runtime::pod::manifest::Manifest;
use fake_runtime::pod::{Simulation, requests};
use fake_runtime::profile;

#[test]
fn manifests_of_every_kind_are_read_without_a_refusal_or_a_field_that_nobody_knows() {
    let dir = crate::tests_file("../fuzz/corpus/manifest");
    let mut count = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none() {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let manifest = Manifest::parse(&text).and_then(Manifest::with_pods);
        let manifest = manifest.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let unknown = manifest.notes.iter().find(|note| note.contains("no field"));
        assert_eq!(unknown, None, "{}", path.display());
        let simulation = Simulation {
            profile: profile::Profile::find("2.3").unwrap(),
            ..Simulation::default()
        };
        for pod in &manifest.pods {
            let asked = requests(pod, &simulation);
            let asked = asked.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert!(!asked.is_empty());
        }
        count += 1;
    }
    assert!(count >= 100, "{count} manifests");
}
