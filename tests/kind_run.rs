//! `ci/kind/run` where the cluster does not come up: what it leaves to whoever has to find out why.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What it says at its end, with a `kind` that runs `script`, and with what `script` wrote to `$CALLS`.
fn failed(script: &str) -> (String, String) {
    let directory = tempfile::tempdir().unwrap();
    for (program, script) in [("kind", script), ("docker", ""), ("kubectl", "")] {
        let path = directory.path().join(program);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    let calls = directory.path().join("calls");
    let path = std::env::var("PATH").unwrap();
    let run = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/kind/run"))
        .arg(directory.path().join("logs"))
        .env("PATH", format!("{}:{path}", directory.path().display()))
        .env("CALLS", &calls)
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(1));
    let stderr = String::from_utf8(run.stderr).unwrap();
    let last = stderr.lines().last().unwrap();
    let last = last.replace(&directory.path().display().to_string(), "DIR");
    (last, fs::read_to_string(calls).unwrap())
}

#[test]
fn a_cluster_that_does_not_come_up_stays_until_its_logs_are_read() {
    let (last, calls) = failed("echo \"$*\" >>\"$CALLS\"; [ \"$1\" != create ]");
    assert_eq!(
        last,
        "ci/kind/run: failed; the cluster's logs are in DIR/logs"
    );
    let calls: Vec<_> = calls.lines().collect();
    assert!(
        calls[0].starts_with("create cluster") && calls[0].contains("--retain"),
        "{calls:?}"
    );
    assert!(calls[1].starts_with("export logs"), "{calls:?}");
    assert!(calls[2].starts_with("delete cluster"), "{calls:?}");
}

#[test]
fn logs_that_are_not_there_are_not_pointed_to() {
    let (last, _) = failed("echo \"$*\" >>\"$CALLS\"; [ \"$1\" = delete ]");
    assert_eq!(last, "ci/kind/run: failed, and the cluster left no logs");
}
