//! The tool among other programs: names that hold more than a name should.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_mock-node"))
        .current_dir(dir)
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["explain", "no\nsuch\u{1b}[31m"][..],
        &["vectors", "no\nsuch", "--plugin", "/bin/true"],
    ] {
        let output = run(dir.path(), args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let line = stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

#[test]
fn cases_without_a_plugin_are_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("cases"),
        r#"{"id": "a", "flags": [], "expect": {"error": true}}"#,
    )
    .unwrap();
    let output = run(dir.path(), &["vectors", "cases"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let expected = "error: there are cases among the rows: give --plugin\n\nUsage: mock-node ";
    assert!(stderr.starts_with(expected), "{stderr}");
}

#[test]
fn a_container_takes_its_lines_and_no_more_whatever_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let request = r#"{"pod": {"name": "p"}, "container": {"name": "a\nb"}}"#;
    fs::write(dir.path().join("request.json"), request).unwrap();
    let output = run(dir.path(), &["explain", "request.json"]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().next(), Some(r"/p/a\nb"));
}
