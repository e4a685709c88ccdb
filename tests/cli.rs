//! The command line, from outside: what it prints, and the one line in which it says what is wrong.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::ffi::OsStr;
use std::fmt::Write;
use std::fs::File;
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;

/// Runs the plugin to its end. Nothing but `variables` is in its environment.
fn run(args: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .args(args)
        .env_clear()
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

/// What it prints when that is all that it is asked for.
fn printed(args: &[&str]) -> String {
    let output = run(args, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    String::from_utf8(output.stdout).unwrap()
}

/// The line in which it refuses to start.
fn refusal(args: &[&str], variables: &[(&str, &str)]) -> String {
    let output = run(args, variables);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(1),
        "{args:?} {variables:?}: {stderr}"
    );
    assert_eq!(
        stderr.lines().count(),
        1,
        "{args:?} {variables:?}: {stderr}"
    );
    stderr.trim_end().to_owned()
}

/// What it logs before it finds no runtime, a JSON object a line.
fn logged(args: &[&str]) -> Vec<Value> {
    let args = [&["--health-addr=", "--socket-path=/nowhere/nri.sock"], args].concat();
    let stdout = String::from_utf8(run(&args, &[]).stdout).unwrap();
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Keeps goldens beside the package, where a reader finds all of them.
fn goldens() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind_to_scope()
}

#[test]
fn the_help_names_every_flag_with_its_variable_and_default() {
    let _goldens = goldens();
    assert_snapshot!("help", printed(&["--help"]));
    assert_eq!(printed(&["-h"]), printed(&["--help"]));
    assert_eq!(printed(&["-help"]), printed(&["--help"]));
}

#[test]
fn the_version_is_one_line() {
    let _goldens = goldens();
    assert_snapshot!("version", printed(&["--version"]));
    assert_eq!(printed(&["-V"]), printed(&["--version"]));
}

#[test]
fn help_is_printed_whatever_the_environment_holds() {
    let output = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .arg("--help")
        .env("MOKKA_LOG_LEVEL", OsStr::from_bytes(b"\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_refusal_says_nothing_to_a_terminal() {
    for (flag, line) in [
        (
            "--socket-path=/\u{1b}[2K",
            r"nri-plugin: cannot connect to the NRI socket /\u{1b}[2K: ",
        ),
        (
            "--feature-gates=\u{9b}31m=true",
            r"nri-plugin: invalid --feature-gates ",
        ),
    ] {
        let refusal = refusal(&["--health-addr=", flag], &[]);
        assert!(refusal.starts_with(line), "{refusal:?}");
        assert!(!refusal.contains(char::is_control), "{refusal:?}");
    }
}

#[test]
fn a_stderr_that_takes_nothing_changes_no_exit_status() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .arg("--nope")
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn every_command_line_that_could_not_work_is_refused_in_one_line() {
    const LOCK: &str = "--staging-lock-path=/run/lock";
    const URL: &str = "--agent-staged-url=http://127.0.0.1:1/stagedz";
    let command_lines: &[&[&str]] = &[
        // What is no flag.
        &["--nope"],
        &["--plugin-nam=x"],
        &["-x"],
        &["extra"],
        &["--", "extra"],
        &["--plugin-name"],
        &["--compute-domain-staging", "true"],
        &["--help=now"],
        // Words, in the order of the help.
        &["--feature-gates=Nope=true"],
        &["--feature-gates=RealDriverGuard"],
        &["--feature-gates=RealDriverGuard=perhaps"],
        &["--feature-gates=requirestagedoverlay=true"],
        &["--log-level=loud"],
        &["--log-format=xml"],
        &["--device-injection-mode=both"],
        &["--compute-domain-staging=perhaps"],
        // Addresses.
        &["--health-addr=8080"],
        &["--health-addr=localhost"],
        &["--health-addr=:65536"],
        &["--health-addr=::1:80"],
        &["--health-addr=:http"],
        // The staging gate.
        &[URL],
        &[LOCK],
        &["--agent-staged-url=https://127.0.0.1:1/", LOCK],
        &["--agent-staged-url=http:///stagedz", LOCK],
        &["--agent-staged-url=http://agent:99999/", LOCK],
        &["--agent-staged-url=agent:80", LOCK],
        &[URL, "--staging-lock-path=run/lock"],
        &[URL, "--staging-lock-path=/var/lib/nvml-mock/lock"],
        &[URL, "--staging-lock-path=/var/lib/other/../nvml-mock/lock"],
        // How it registers.
        &["--plugin-name=a b"],
        &["--plugin-name=a/b"],
        &["--plugin-index=1"],
        &["--plugin-index=100"],
        &["--plugin-index=1a"],
        // Paths.
        &["--overlay-host-path=var/lib/nvml-mock"],
        &["--overlay-mount-path=opt"],
        // Where every container needs something else.
        &["--overlay-mount-path=/proc/"],
        &["--overlay-mount-path=//sys"],
        &["--overlay-mount-path=/x/../dev"],
        &["--topology-host-path=./t"],
        &["--topology-mount-path=t"],
        &["--device-host-path=dev"],
        &["--cdi-spec-host-path=mock.yaml"],
        &["--imex-channel-host-path=dev"],
        // A CDI name that would fail every container.
        &["--device-injection-mode=cdi", "--cdi-device-name=gpu"],
        &[
            "--device-injection-mode=cdi",
            "--cdi-device-name=vendor/gpu",
        ],
        &[
            "--device-injection-mode=cdi",
            "--cdi-device-name=ven_dor/=all",
        ],
    ];
    let mut text = String::new();
    for args in command_lines {
        writeln!(
            text,
            "$ nri-plugin {}\n{}\n",
            args.join(" "),
            refusal(args, &[])
        )
        .unwrap();
    }
    let _goldens = goldens();
    assert_snapshot!("errors", text);
}

#[test]
fn a_bad_variable_is_refused_like_the_flag() {
    for (variable, flag, value) in [
        ("MOKKA_NRI_PLUGIN_INDEX", "--plugin-index", "1"),
        ("MOKKA_LOG_LEVEL", "--log-level", "loud"),
        ("MOKKA_FEATURE_GATES", "--feature-gates", "Nope=true"),
        (
            "MOKKA_NRI_COMPUTE_DOMAIN_STAGING",
            "--compute-domain-staging",
            "perhaps",
        ),
    ] {
        let from_flag = refusal(&[&format!("{flag}={value}")], &[]);
        assert_eq!(refusal(&[], &[(variable, value)]), from_flag);
    }
}

#[test]
fn a_probe_address_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    assert_eq!(
        refusal(&[&format!("--health-addr={address}")], &[]),
        format!(
            "nri-plugin: cannot serve the probes at {address}: Address already in use (os error 98); \
             choose another --health-addr"
        )
    );
}

// containerd/nri#62, koordinator-sh/koordinator#1993: without NRI, the error named neither NRI nor the path.
#[test]
fn containerd_nri_62_a_missing_socket_ends_the_process_and_says_how_to_turn_nri_on() {
    assert_eq!(
        refusal(&["--health-addr=", "--socket-path=/nowhere/nri.sock"], &[]),
        "nri-plugin: cannot connect to the NRI socket /nowhere/nri.sock: No such file or directory \
         (os error 2); NRI is off in the runtime, or its socket is elsewhere: containerd turns it on \
         with disable = false under [plugins.\"io.containerd.nri.v1.nri\"] in its config.toml"
    );
}

#[test]
fn a_path_of_two_lines_is_refused_in_one() {
    let line = refusal(&["--health-addr=", "--socket-path=/no\nwhere"], &[]);
    let told = "nri-plugin: cannot connect to the NRI socket /no; where: No such file";
    assert!(line.starts_with(told), "{line}");
}

#[test]
fn what_is_no_text_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .env_clear()
        .env("NODE_NAME", OsStr::from_bytes(b"n\xff"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "nri-plugin: environment variable NODE_NAME is not valid UTF-8\n"
    );
}

#[test]
fn a_descriptor_that_the_runtime_did_not_pass_on_is_refused() {
    for (value, line) in [
        (
            "three",
            "nri-plugin: NRI_PLUGIN_SOCKET must be the number of an inherited file descriptor, \
             not \"three\"",
        ),
        (
            "999",
            "nri-plugin: cannot use the inherited file descriptor 999 of NRI_PLUGIN_SOCKET: \
             Bad file descriptor (os error 9)",
        ),
    ] {
        assert_eq!(
            refusal(&["--health-addr="], &[("NRI_PLUGIN_SOCKET", value)]),
            line
        );
    }
}

#[test]
fn the_start_is_logged_with_every_flag_as_it_was_resolved() {
    let mut lines = logged(&["--overlay-host-path=/ov//x/", "--node-name=node-1"]);
    let start = lines.remove(0);
    assert_eq!(
        (&start["level"], &start["msg"]),
        (&"info".into(), &"starting".into())
    );
    assert_eq!(start["overlay_host_path"], "/ov/x");
    assert_eq!(start["device_host_path"], "/ov/x/driver/dev");
    let help = printed(&["--help"]);
    let flags = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("--"));
    for flag in flags.map(|flag| flag.split([' ', '[', '=']).next().unwrap()) {
        let off = [
            "feature-gates",
            "health-addr",
            "agent-staged-url",
            "staging-lock-path",
        ];
        if !off.contains(&flag) {
            assert!(
                start.get(flag.replace('-', "_")).is_some(),
                "no {flag} in {start}"
            );
        }
    }
}

#[test]
fn the_state_of_every_feature_gate_is_logged_at_the_start() {
    let lines = logged(&["--feature-gates=AllBeta=false,RequireStagedOverlay=true"]);
    let gates: Vec<_> = lines
        .iter()
        .filter(|line| line["msg"] == "feature gate")
        .map(|line| {
            (
                line["gate"].as_str().unwrap(),
                line["enabled"].as_bool().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        gates,
        [("RequireStagedOverlay", true), ("RealDriverGuard", false)]
    );
}

#[test]
fn a_plain_log_is_no_json() {
    let output = run(
        &[
            "--health-addr=",
            "--socket-path=/nowhere/nri.sock",
            "--log-format=PLAIN",
        ],
        &[],
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let line = stdout.lines().next().unwrap();
    assert!(line.contains("Z INFO  starting version=\""), "{line}");
}

#[test]
fn too_few_file_descriptors_are_told_like_any_other_error() {
    let plugin = env!("CARGO_BIN_EXE_nri-plugin");
    let flags = "--health-addr=127.0.0.1:0 --socket-path=/nowhere/nri.sock";
    for limit in 5..=12 {
        let output = Command::new("sh")
            .args(["-c", &format!("ulimit -n {limit}; exec {plugin} {flags}")])
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{limit}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{limit}: {stderr}");
        assert!(stderr.starts_with("nri-plugin: "), "{limit}: {stderr}");
    }
}
