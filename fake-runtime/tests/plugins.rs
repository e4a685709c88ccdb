//! Plugins as a command line starts them: several at once, with variables, and such as fail. They are in Python, on the
//! stub of the documentation's example.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const TOOL: &str = env!("CARGO_BIN_EXE_fake-runtime");
const STUB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/python");

/// Registers under the index and name that it is given, and does with a container what it is told to.
const PLUGIN: &str = r#"
import os, sys, time
sys.path.insert(0, os.environ["STUB"])
import nri_stub

def create(request):
    if does == "dies":
        print("panic: out of luck", file=sys.stderr, flush=True)
        os._exit(2)
    if does == "sleeps":
        time.sleep(60)
    return nri_stub.variable("HELLO", os.environ.get("GREETING", does))

socket, index, name, does = sys.argv[1:]
nri_stub.run(socket, index, name, create)
"#;

const POD: &str = "{kind: Pod, metadata: {name: pod}, spec: {containers: [{name: main}]}}";

fn dir() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("plugin.py"), PLUGIN).unwrap();
    fs::write(dir.path().join("pod.yaml"), POD).unwrap();
    dir
}

/// The plugin that has this index and name and does this, as `--plugin` takes it.
fn plugin(of: &str) -> String {
    format!("python3 plugin.py {{socket}} {of}")
}

fn tool(dir: &Path) -> Command {
    let mut tool = Command::new(TOOL);
    tool.current_dir(dir).env("STUB", STUB);
    tool
}

fn run(args: &[&str]) -> Output {
    tool(dir().path()).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn two_plugins_that_want_the_same_are_both_named() {
    let [first, second] = ["10 first hi", "20 second ho"].map(plugin);
    let output = run(&[
        "replay", "pod.yaml", "--plugin", &second, "--plugin", &first,
    ]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    let asked: Vec<_> = printed
        .lines()
        .filter_map(|line| line.trim().split_once(" adjusted"))
        .map(|(plugin, _)| plugin)
        .collect();
    assert_eq!(asked, ["10-first", "20-second"], "by their index");
    let refusal = "plugins \"20-second\" and \"10-first\" both tried to set env HELLO";
    assert!(printed.contains(refusal), "{printed}");
}

#[test]
fn a_variable_is_set_for_the_plugin() {
    let plugin = plugin("10 greeter unused");
    let output = run(&[
        "replay",
        "pod.yaml",
        "--env",
        "GREETING=hi",
        "--plugin",
        &plugin,
    ]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert!(printed.contains("+ env HELLO=hi\n"), "{printed}");
}

#[test]
fn a_plugin_that_dies_fails_the_replay_with_what_it_said() {
    let output = run(&["replay", "pod.yaml", "--plugin", &plugin("10 mortal dies")]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("exit status: 2: panic: out of luck"),
        "{printed}"
    );
}

#[test]
fn a_plugin_that_is_late_fails_the_replay() {
    let output = run(&["replay", "pod.yaml", "--plugin", &plugin("10 lazy sleeps")]);
    let printed = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("10-lazy gave no answer: context deadline exceeded"),
        "{printed}"
    );
}

#[test]
fn junit_tells_a_failure_from_a_success() {
    for (does, failures) in [("hi", 0), ("dies", 1)] {
        let plugin = plugin(&format!("10 tested {does}"));
        let output = run(&[
            "replay", "pod.yaml", "--output", "junit", "--plugin", &plugin,
        ]);
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(failures), "{printed}");
        assert!(printed.starts_with("<?xml "), "{printed}");
        let count = |what: &str| printed.matches(what).count();
        assert!(printed.contains("name=\"default/pod/main\""), "{printed}");
        assert_eq!(
            count("<failure "),
            usize::try_from(failures).unwrap(),
            "{printed}"
        );
    }
}

#[test]
fn a_plugin_that_is_started_by_hand_is_checked_once_it_is_there() {
    let dir = dir();
    let mut check = tool(dir.path())
        .args(["check", "--listen", "nri.sock", "--only", "registration"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(check.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "listening on nri.sock");
    let mut plugin = Command::new("python3")
        .current_dir(dir.path())
        .env("STUB", STUB)
        .args(["plugin.py", "nri.sock", "10", "by-hand", "hi"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let told: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(check.wait().unwrap().code(), Some(0), "{told:?}");
    plugin.kill().unwrap();
    plugin.wait().unwrap();
}
