//! `fake-runtime replay`, with a plugin that somebody else starts.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::Path;
use std::process::Stdio;

use fake_runtime::api::{ContainerAdjustment, KeyValue};
use fake_runtime::scripted::{Reply, ScriptedPlugin};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;

const POD: &str = "{kind: Pod, metadata: {name: pod}, spec: {containers: [{name: main}]}}";

/// A directory with a Pod in it.
fn dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("pod.yaml"), POD).unwrap();
    dir
}

/// Runs `replay pod.yaml --listen nri.sock ARGS` for a plugin that sets HELLO, and returns its exit status and what it
/// printed.
async fn replay(dir: &Path, hello: &str, args: &[&str]) -> (i32, String) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_fake-runtime"))
        .current_dir(dir)
        .args(["replay", "pod.yaml", "--listen", "nri.sock"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut waits = String::new();
    BufReader::new(tool.stderr.take().unwrap())
        .read_line(&mut waits)
        .await
        .unwrap();
    assert_eq!(waits, "waiting for a plugin on nri.sock\n");

    let hello = KeyValue {
        key: "HELLO".into(),
        value: hello.into(),
    };
    let adjustment = ContainerAdjustment {
        env: vec![hello],
        ..Default::default()
    };
    let plugin = ScriptedPlugin::new("10", "hello")
        .reply(move |_| Reply::Adjust(Box::new(adjustment.clone())));
    let _plugin = plugin.connect(&dir.join("nri.sock")).await.unwrap();

    let mut printed = String::new();
    tool.stdout
        .take()
        .unwrap()
        .read_to_string(&mut printed)
        .await
        .unwrap();
    (tool.wait().await.unwrap().code().unwrap(), printed)
}

#[tokio::test]
async fn what_changed_is_printed_for_people() {
    let (status, printed) = replay(dir().path(), "world", &[]).await;
    let lines: Vec<_> = printed.lines().collect();
    assert_eq!(status, 0);
    assert_eq!(lines[0], "default/pod/main");
    assert!(
        lines[1].starts_with("  10-hello adjusted 1 variable in "),
        "{printed}"
    );
    assert_eq!(lines[2], "  + env HELLO=world");
}

#[tokio::test]
async fn and_for_scripts() {
    let (status, printed) = replay(dir().path(), "world", &["--output", "json"]).await;
    let line: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(status, 0);
    assert_eq!(line["container"], "default/pod/main");
    assert_eq!(line["asked"][0]["adjust"]["env"][0]["value"], "world");
    assert_eq!(line["changes"][0]["after"], "HELLO=world");
}

#[tokio::test]
async fn a_run_is_compared_with_an_earlier_one() {
    let dir = dir();
    let expect = ["--expect", "goldens"];
    let (status, printed) = replay(dir.path(), "world", &expect).await;
    assert_eq!(status, 1);
    assert!(
        printed.starts_with("pod.yaml: there is no goldens/pod.yaml.txt"),
        "{printed}"
    );

    let update = ["--expect", "goldens", "--update"];
    assert_eq!(
        replay(dir.path(), "world", &update).await,
        (0, "1 written\n".to_owned())
    );

    let same = (0, "1 as expected, 0 different\n".to_owned());
    assert_eq!(replay(dir.path(), "world", &expect).await, same);

    let (status, printed) = replay(dir.path(), "there", &expect).await;
    assert_eq!(status, 1);
    assert!(
        printed.contains("\n-  + env HELLO=world\n+  + env HELLO=there\n"),
        "{printed}"
    );
    assert!(
        printed.ends_with("0 as expected, 1 different\n"),
        "{printed}"
    );
}
