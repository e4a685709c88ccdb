//! The vectors, played through the built plugin over a real socket.

use std::path::{Path, PathBuf};

use fake_runtime::jsonl;
use mock_node::vectors::{Case, Mismatch, Player, Verdict};

/// Plays every case of a file and says how many there were.
async fn play(file: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(file);
    let cases: Vec<Case> = jsonl::read(&path).expect("the project's own copy of the vectors");
    let player = Player::new(PathBuf::from(env!("CARGO_BIN_EXE_nri-plugin")));
    let playing: Vec<_> = cases
        .into_iter()
        .map(|case| (case.id.clone(), player.start(case)))
        .collect();
    let played = playing.len();

    let mut failed = Vec::new();
    let mut skipped = Vec::new();
    for (id, playing) in playing {
        match playing.await.expect("no case panics") {
            Ok(Verdict::Passed) => {}
            Ok(Verdict::Skipped(why)) => skipped.push(format!("{id}: {why}")),
            Ok(Verdict::Failed(Mismatch {
                expected,
                got,
                diff,
            })) => {
                let diff = diff.unwrap_or_default();
                failed.push(format!("{id}: expected {expected}, got {got}\n{diff}"));
            }
            Err(error) => failed.push(format!("{id}: {error}")),
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {played} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
    // A case that was not played proves nothing, and a test that hid it would say that it does.
    assert!(
        skipped.is_empty(),
        "{} of {played} could not be set up; run this test as root:\n{}",
        skipped.len(),
        skipped.join("\n")
    );
    played
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes device nodes, so it needs root: ci/test has it"]
async fn every_case_is_answered_as_expected() {
    assert_eq!(play("cases.jsonl.gz").await, 2679);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes device nodes, so it needs root: ci/test has it"]
async fn every_case_with_volumes_and_user_namespaces_is_answered_as_expected() {
    assert_eq!(play("cases-volumes.jsonl.gz").await, 300);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes device nodes, so it needs root: ci/test has it"]
async fn every_case_with_environment_variables_is_answered_as_expected() {
    assert_eq!(play("cases-env.jsonl.gz").await, 164);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "makes device nodes, so it needs root: ci/test has it"]
async fn every_case_with_a_node_agent_is_answered_as_expected() {
    assert_eq!(play("cases-agent.jsonl.gz").await, 98);
}
