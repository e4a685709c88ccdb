//! `nri-plugin install` and `uninstall`, on a node that is a directory.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::fs::inotify::{self, ReadFlags, WatchFlags};
use tempfile::TempDir;

const PROGRAM: &str = "opt/nri/plugins/10-nvml-mock";
const CONFIGURATION: &str = "etc/nri/conf.d/10-nvml-mock.conf";

fn run(node: &Path, command: &str, flags: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .arg(command)
        .arg(format!("--root={}", node.display()))
        .arg("--plugin-name=nvml-mock")
        .args(flags)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn done(node: &TempDir, command: &str, flags: &[&str], variables: &[(&str, &str)]) {
    let output = run(node.path(), command, flags, variables);
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

/// The one line on stderr.
fn refused(node: &TempDir, command: &str, flags: &[&str]) -> String {
    let output = run(node.path(), command, flags, &[]);
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let line = stderr.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    line.replace(&node.path().display().to_string(), "NODE")
}

fn mode(path: PathBuf) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// What is in the directory of the file at `path`, and in the one above it.
fn beside(path: PathBuf) -> Vec<String> {
    let directory = path.parent().unwrap();
    let directories = [directory, directory.parent().unwrap()];
    let entries = directories
        .iter()
        .flat_map(|directory| fs::read_dir(directory).unwrap());
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn the_runtime_finds_the_program_and_its_own_flags_and_variables_as_its_configuration() {
    let node = tempfile::tempdir().unwrap();
    let flags = [
        "--excluded-namespaces=a,b",
        "--excluded-namespaces=c",
        "--overlay-mount-path=/opt/a: b",
    ];
    done(&node, "install", &flags, &[("NODE_NAME", "node-1")]);
    let program = fs::read(node.path().join(PROGRAM)).unwrap();
    assert!(program == fs::read(env!("CARGO_BIN_EXE_nri-plugin")).unwrap());
    assert_eq!(mode(node.path().join(PROGRAM)), 0o755);
    assert_eq!(
        fs::read_to_string(node.path().join(CONFIGURATION)).unwrap(),
        "excluded-namespaces: [\"a,b\",\"c\"]\n\
         node-name: \"node-1\"\n\
         overlay-mount-path: \"/opt/a: b\"\n\
         plugin-name: \"nvml-mock\"\n"
    );
    assert_eq!(mode(node.path().join(CONFIGURATION)), 0o644);
}

// An executable file under another name keeps every containerd from starting.
#[test]
fn nothing_but_the_complete_program_is_ever_in_the_plugin_directory() {
    let node = tempfile::tempdir().unwrap();
    let plugins = node.path().join(PROGRAM);
    let plugins = plugins.parent().unwrap();
    fs::create_dir_all(plugins).unwrap();
    let watched = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watched, plugins, WatchFlags::ALL_EVENTS).unwrap();
    done(&node, "install", &[], &[]);
    done(&node, "install", &["--log-level=debug"], &[]);
    done(&node, "uninstall", &[], &[]);
    let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
    let mut events = inotify::Reader::new(&watched, &mut buffer);
    let mut seen = Vec::new();
    while let Ok(event) = events.next() {
        let name = event
            .file_name()
            .map(|name| name.to_str().unwrap().to_owned());
        // Looking at the directory itself changes nothing.
        if let Some(name) = name.filter(|_| !event.events().intersects(ReadFlags::ISDIR)) {
            seen.push((event.events(), name));
        }
    }
    // The kernel may tell of two that are the same as of one.
    seen.dedup();
    let moved = |how| (how, "10-nvml-mock".to_owned());
    assert_eq!(
        seen,
        [moved(ReadFlags::MOVED_TO), moved(ReadFlags::MOVED_FROM)]
    );
    assert_eq!(beside(node.path().join(PROGRAM)), ["plugins"]);
}

#[test]
fn what_is_removed_leaves_nothing_and_may_be_gone_already() {
    let node = tempfile::tempdir().unwrap();
    done(&node, "uninstall", &[], &[]);
    done(&node, "install", &[], &[]);
    done(&node, "uninstall", &[], &[]);
    done(&node, "uninstall", &[], &[]);
    assert_eq!(beside(node.path().join(PROGRAM)), ["plugins"]);
    assert_eq!(beside(node.path().join(CONFIGURATION)), ["conf.d"]);
}

#[test]
fn a_program_that_runs_can_be_replaced() {
    let node = tempfile::tempdir().unwrap();
    done(&node, "install", &[], &[]);
    let (_runtime, plugins) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut running = Command::new(node.path().join(PROGRAM))
        .env_clear()
        .env("NRI_PLUGIN_SOCKET", "0")
        .stdin(std::os::fd::OwnedFd::from(plugins))
        .spawn()
        .unwrap();
    done(&node, "install", &[], &[]);
    assert_eq!(running.try_wait().unwrap(), None);
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn what_could_not_work_is_not_installed() {
    for (flags, line) in [
        (
            "--overlay-host-path=ov",
            "nri-plugin: invalid --overlay-host-path \"ov\": not an absolute path, start it with /: programs with \
             other working directories read it too",
        ),
        ("--nope", "nri-plugin: unknown flag \"--nope\", see --help"),
        (
            "stray",
            "nri-plugin: unexpected argument \"stray\": only flags are taken, as --name=value",
        ),
    ] {
        let node = tempfile::tempdir().unwrap();
        assert_eq!(refused(&node, "install", &[flags]), line);
        assert_eq!(fs::read_dir(node.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let node = tempfile::tempdir().unwrap();
    fs::create_dir_all(node.path().join("opt/nri")).unwrap();
    fs::write(node.path().join("opt/nri/plugins"), "").unwrap();
    assert_eq!(
        refused(&node, "install", &[]),
        "nri-plugin: cannot install NODE/opt/nri/plugins/10-nvml-mock: File exists (os error 17)"
    );
    assert_eq!(
        refused(&node, "uninstall", &[]),
        "nri-plugin: cannot remove NODE/opt/nri/plugins/10-nvml-mock: Not a directory (os error 20)"
    );
}
