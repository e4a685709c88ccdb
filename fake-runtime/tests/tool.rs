//! The tool among other programs: signals, and names that hold more than a name should.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};

fn tool(dir: &Path) -> Command {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_fake-runtime"));
    tool.current_dir(dir);
    tool
}

fn run(dir: &Path, args: &[&str]) -> Output {
    tool(dir).args(args).output().unwrap()
}

#[test]
fn an_interrupted_tool_takes_its_plugin_and_its_files_along() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("tmp")).unwrap();
    fs::write(
        at("pod.yaml"),
        "{kind: Pod, metadata: {name: a}, spec: {containers: [{name: b}]}}",
    )
    .unwrap();
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        // Never registers, and does not notice when the tool is gone.
        let script =
            "#!/bin/sh\necho $$ > plugin.pid.new\nmv plugin.pid.new plugin.pid\nexec sleep 1000\n";
        fs::write(at("plugin"), script).unwrap();
        let mut args = vec!["replay", "pod.yaml", "--plugin"];
        args.extend(["/bin/sh", "--", "plugin", "{socket}"]);
        let mut tool = tool(dir.path())
            .args(args)
            .env("TMPDIR", at("tmp"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let plugin = loop {
            if let Ok(pid) = fs::read_to_string(at("plugin.pid")) {
                break pid.trim().to_owned();
            }
            assert!(tool.try_wait().unwrap().is_none(), "the tool ended");
            std::thread::yield_now();
        };
        fs::remove_file(at("plugin.pid")).unwrap();
        kill_process(Pid::from_child(&tool), signal).unwrap();
        assert_eq!(tool.wait().unwrap().code(), Some(status));
        // It was killed, which takes it a moment.
        while Path::new("/proc").join(&plugin).join("exe").exists() {
            std::thread::yield_now();
        }
        assert_eq!(fs::read_dir(at("tmp")).unwrap().count(), 0);
        let said = BufReader::new(tool.stderr.take().unwrap()).lines().count();
        assert_eq!(said, 0);
    }
}

#[test]
fn an_error_is_one_line_whatever_it_quotes() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["replay", "no\nsuch\u{1b}[31m", "--plugin", "/bin/true"][..],
        &["vectors", "no\nsuch", "--plugin", "/bin/true"],
        &["check", "--plugin", "no\nsuch"],
        &["record", "--socket", "no\nsuch", "-o", "-"],
    ] {
        let output = run(dir.path(), args);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let line = stderr.strip_suffix('\n').unwrap();
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}
