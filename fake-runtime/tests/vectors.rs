//! `fake-runtime vectors`: rows of applied adjustments, which need no plugin, and cases, which need another tool.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Output};

use fake_runtime::api::Container;
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use serde_json::{Value, json};

/// Plays a row that comes out as it says and one that does not, and returns the exit status and what was printed.
fn vectors(args: &[&str]) -> (Option<i32>, String) {
    let spec = Spec::of(&Container::default(), Profile::find("2.1").unwrap());
    let spec = serde_json::to_value(spec).unwrap();
    let mut other = spec.clone();
    other["hostname"] = "elsewhere".into();
    let rows = [("same", &spec), ("other", &other)].map(|(case, after)| {
        let row = json!({
            "version": "2.1.9",
            "case": case,
            "adjust": {},
            "before": {"spec": spec},
            "after": {"spec": after},
        });
        format!("{row}\n")
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rows.jsonl");
    fs::write(&file, rows.concat()).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fake-runtime"))
        .arg("vectors")
        .arg(&file)
        .args(args)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    (output.status.code(), printed)
}

#[test]
fn what_differs_is_printed_for_people() {
    let printed = "\
failed 2.1.9/other
  /spec/hostname: recorded \"elsewhere\", here nothing
1 passed, 1 failed, 0 skipped
";
    assert_eq!(vectors(&[]), (Some(1), printed.to_owned()));
}

#[test]
fn and_for_scripts_what_came_of_every_row() {
    let (status, printed) = vectors(&["--output", "json"]);
    let lines: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected = [
        json!({"id": "2.1.9/same", "outcome": "passed"}),
        json!({
            "id": "2.1.9/other",
            "outcome": "failed",
            "seen": "/spec/hostname: recorded \"elsewhere\", here nothing",
        }),
    ];
    assert_eq!((status, lines), (Some(1), expected.to_vec()));
}

/// Gives the tool a case, with nothing beside it but `mock_node`, which is that program.
fn case_beside(mock_node: Option<&str>) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let tool = dir.path().join("fake-runtime");
    // By a process of its own: a child that another test forks meanwhile would hold the copy open, and busy.
    let copied = Command::new("cp")
        .args([
            env!("CARGO_BIN_EXE_fake-runtime").as_ref(),
            tool.as_os_str(),
        ])
        .status();
    assert!(copied.unwrap().success());
    if let Some(program) = mock_node {
        symlink(program, dir.path().join("mock-node")).unwrap();
    }
    fs::write(dir.path().join("cases"), r#"{"id": "case", "flags": []}"#).unwrap();
    Command::new(tool)
        .current_dir(dir.path())
        .args(["vectors", "cases", "--plugin", "plugin"])
        .output()
        .unwrap()
}

#[test]
fn cases_are_handed_over_to_mock_node_beside_it() {
    let handed_over = case_beside(Some("/bin/echo"));
    let arguments = String::from_utf8(handed_over.stdout).unwrap();
    assert_eq!(arguments, "vectors cases --plugin plugin\n");
    assert!(handed_over.status.success());
    assert_eq!(case_beside(Some("/bin/false")).status.code(), Some(1));
}

#[test]
fn cases_without_mock_node_beside_it_are_an_error_of_one_line() {
    let output = case_beside(None);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    let expected =
        "fake-runtime: there are cases among the rows, which mock-node plays: cannot start ";
    assert!(error.starts_with(expected), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
