//! What is made of Pods, held against what a real kubelet and containerd made of them: 1.7.24 and 2.1.9, the latter with
//! both cgroup drivers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use fake_runtime::jsonl;
use fake_runtime::pod::cases::{self, Outcome};
use serde::Deserialize;

/// A file of a folder of cases.
#[derive(Deserialize)]
struct File {
    path: String,
    text: String,
}

/// The folders of cases, each file after `edit`.
fn unpacked(edit: impl Fn(&File) -> Option<String>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let packed = crate::tests_file("../fake-runtime/tests/pods/kubelet.jsonl.gz");
    for file in jsonl::read::<File>(&packed).unwrap() {
        if let Some(text) = edit(&file) {
            let path = dir.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    dir
}

/// Every step of every case, and what differs in it.
fn differences(dir: &Path) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for folder in cases::open(dir).unwrap() {
        for name in folder.names().unwrap() {
            for step in folder.check(&name).unwrap() {
                let fields = match step.outcome {
                    Outcome::Different(fields) => fields,
                    Outcome::Equal | Outcome::NotRecorded(_) => Vec::new(),
                };
                all.insert(step.id, fields);
            }
        }
    }
    all
}

#[test]
fn only_the_steps_on_the_list_differ_from_what_a_kubelet_and_containerd_did() {
    let list = include_str!("differences.txt").lines();
    let list: Vec<&str> = list.filter(|line| !line.starts_with('#')).collect();
    let listed = |id: &str| list.iter().any(|line| line.starts_with(&format!("{id}: ")));
    let dir = unpacked(|file| Some(file.text.clone()));
    let all = differences(dir.path());
    for (id, fields) in &all {
        assert_eq!(!fields.is_empty(), listed(id), "{id}: {fields:#?}");
    }
    assert!(all.len() > 460, "{}", all.len());
}

#[test]
fn a_recording_that_says_something_else_is_found_out() {
    const CASES: [&str; 3] = ["resources-cpu-half", "gpu-two", "volume-read-only"];
    // In which file, what is written there, what is written in its place, and in which steps that shows.
    let edits = [
        (
            "cri.json",
            r#""cpu_shares":10"#,
            r#""cpu_shares":11"#,
            &["resources-cpu-half/cri", "resources-cpu-half/nri"][..],
        ),
        (
            "requests.jsonl",
            "FROM_IMAGE=yes",
            "FROM_IMAGE=no",
            &[
                "gpu-two/nri",
                "resources-cpu-half/nri",
                "volume-read-only/nri",
            ],
        ),
        (
            "requests.jsonl",
            r#""rro""#,
            r#""ro""#,
            &["volume-read-only/nri"],
        ),
        (
            "requests.jsonl",
            r#"{"type":"mount"}"#,
            r#"{"type":"time"}"#,
            &[
                "gpu-two/nri",
                "resources-cpu-half/nri",
                "volume-read-only/nri",
            ],
        ),
        (
            "pod.yaml",
            "nvidia.com/gpu: '2'",
            "nvidia.com/gpu: '1'",
            &["gpu-two/cri"],
        ),
        (
            "pod.yaml",
            "mountPath: /h",
            "mountPath: /i",
            &["volume-read-only/cri"],
        ),
    ];
    for (name, from, to, expected) in edits {
        let dir = unpacked(|file| {
            let mut parts = file.path.split('/');
            let (folder, case) = (parts.next()?, parts.next()?);
            let wanted = folder == "2.1.9" && (parts.next().is_none() || CASES.contains(&case));
            wanted.then(|| match file.path.ends_with(name) {
                true => file.text.replace(from, to),
                false => file.text.clone(),
            })
        });
        let mut found = differences(dir.path());
        found.retain(|_, fields| !fields.is_empty());
        let found: Vec<&str> = found
            .keys()
            .map(|id| id.strip_prefix("2.1.9/").unwrap())
            .collect();
        assert_eq!(found, expected, "{from} as {to}");
    }
}
