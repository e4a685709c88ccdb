//! The flags, as documented, in the built plugin: what each resolves to stands in the first line of the log.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use clap::CommandFactory as _;
use nri_plugin::config::Config;
use nri_plugin::flags::{Flags, Invocation};
use serde_json::Value;

/// For each kind of value, as the help calls it, one value and what it is resolved to.
const VALUES: [(&str, &str, &str); 14] = [
    (
        "GATES",
        "RequireStagedOverlay=1",
        "RequireStagedOverlay=true,RealDriverGuard=true",
    ),
    ("LEVEL", "DEBUG", "debug"),
    ("FORMAT", "JSON", "json"),
    ("HOST:PORT", "127.0.0.1:0", "127.0.0.1:0"),
    ("URL", "http://agent", "http://agent:80/"),
    ("PATH", "/x/../given/./it/", "/given/it"),
    ("NAME", "given", "given"),
    ("INDEX", "07", "07"),
    ("NAMESPACES", " b ,,a", "a,b"),
    ("KEY", "my.io/key", "my.io/key"),
    ("PATHS", "b.so, /a.so", "/opt/nvml-mock/b.so,/a.so"),
    ("MODE", "CDI", "cdi"),
    ("DEVICE", "v/c=d", "v/c=d"),
    ("BOOL", "T", "true"),
];

/// A flag of the help.
struct Flag {
    name: String,
    variable: String,
    value: &'static str,
    /// What the value is resolved to.
    meaning: &'static str,
}

/// Every flag of the help but --log-file.
fn flags() -> Vec<Flag> {
    let flag = |arg: &clap::Arg| {
        let (name, variable) = (arg.get_long()?, arg.get_env()?.to_str()?);
        let kind = arg.get_value_names()?.first()?;
        let of_kind = VALUES.iter().find(|(known, ..)| *known == kind.as_str());
        let (_, value, meaning) =
            of_kind.unwrap_or_else(|| panic!("--{name}: which values does a {kind} have?"));
        Some(Flag {
            name: name.to_owned(),
            variable: variable.to_owned(),
            value,
            meaning,
        })
    };
    let flags = Flags::command();
    let flags = flags.get_arguments().filter_map(flag);
    // It takes the log elsewhere, and has tests of its own below.
    flags.filter(|flag| flag.name != "log-file").collect()
}

/// What the plugin logs until it fails on what should be the connection that a runtime passed on: before that,
/// it speaks to nobody.
fn logged(args: &[&str], variables: &[(&str, &str)]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .args(args)
        .env_clear()
        .envs(variables.iter().copied())
        .env("NRI_PLUGIN_SOCKET", "none")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "nri-plugin: NRI_PLUGIN_SOCKET must be the number of an inherited file descriptor, not \"none\"\n",
        "{args:?} {variables:?}"
    );
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines = stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The configuration as it is logged at the start, with no probes where the arguments say nothing of them.
fn resolved(args: &[&str], variables: &[(&str, &str)]) -> Value {
    let mut variables = variables.to_vec();
    if !variables
        .iter()
        .any(|(name, _)| *name == "MOKKA_NRI_HEALTH_ADDR")
    {
        variables.push(("MOKKA_NRI_HEALTH_ADDR", ""));
    }
    let start = logged(args, &variables).remove(0);
    assert_eq!(start["msg"], "starting");
    start
}

/// What `flag` was resolved to.
fn field(start: &Value, flag: &str) -> String {
    match &start[flag.replace('-', "_")] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The argument without which a flag of the staging gate is refused.
fn other_half(flag: &str) -> &'static str {
    match flag {
        "agent-staged-url" => "--staging-lock-path=/run/lock",
        "staging-lock-path" => "--agent-staged-url=http://agent",
        _ => "--",
    }
}

#[test]
fn every_flag_is_logged_with_its_default() {
    let Invocation::Run(flags) = Flags::parse(["--health-addr=".into()], |_| None).unwrap() else {
        panic!("no help was asked for")
    };
    let start = resolved(&[], &[]);
    for arg in Config::resolve(*flags).unwrap().command_line() {
        let (flag, default) = arg[2..].split_once('=').unwrap();
        assert_eq!(field(&start, flag), default, "{flag}");
    }
}

#[test]
fn every_flag_is_taken_with_one_dash_or_two_and_from_its_variable() {
    for Flag {
        name,
        variable,
        value,
        meaning,
    } in flags()
    {
        let other = other_half(&name);
        for dashes in ["-", "--"] {
            let arg = format!("{dashes}{name}={value}");
            assert_eq!(
                field(&resolved(&[&arg, other], &[]), &name),
                meaning,
                "{arg}"
            );
        }
        let start = resolved(&[other], &[(&variable, value)]);
        assert_eq!(field(&start, &name), meaning, "{variable}={value}");
    }
}

#[test]
fn the_flag_wins_when_both_are_set() {
    for Flag {
        name,
        variable,
        value,
        meaning,
    } in flags()
    {
        let arg = format!("--{name}={value}");
        let start = resolved(&[&arg, other_half(&name)], &[(&variable, "")]);
        assert_eq!(field(&start, &name), meaning, "{name}");
    }
}

#[test]
fn an_empty_value_is_the_default_or_off() {
    let defaults = resolved(&[], &[]);
    for Flag { name, variable, .. } in flags() {
        let expected = match &*name {
            "health-addr" | "excluded-namespaces" => String::new(),
            _ => field(&defaults, &name),
        };
        for (args, variables) in [
            (&[format!("--{name}=").as_str()][..], &[][..]),
            (&[], &[(variable.as_str(), "")]),
        ] {
            let start = resolved(args, variables);
            assert_eq!(field(&start, &name), expected, "{args:?} {variables:?}");
        }
    }
}

#[test]
fn an_empty_flag_wins_over_its_variable() {
    let start = resolved(
        &["--excluded-namespaces=", "--node-name="],
        &[("MOKKA_NRI_EXCLUDED_NAMESPACES", "a"), ("NODE_NAME", "n")],
    );
    assert_eq!(field(&start, "excluded-namespaces"), "");
    assert_eq!(field(&start, "node-name"), "");
}

#[test]
fn a_repeated_list_flag_adds_to_the_list() {
    let start = resolved(
        &["--excluded-namespaces=b, c,", "--excluded-namespaces", "a"],
        &[],
    );
    assert_eq!(field(&start, "excluded-namespaces"), "a,b,c");
}

#[test]
fn derived_paths_follow_the_overlay_that_is_used() {
    let start = resolved(
        &["--overlay-mount-path=/m/"],
        &[("MOKKA_NRI_OVERLAY_HOST_PATH", "/h//o")],
    );
    for (flag, path) in [
        ("device-host-path", "/h/o/driver/dev"),
        ("topology-host-path", "/h/o/topology/topology.yaml"),
        ("topology-mount-path", "/m/topology/topology.yaml"),
        (
            "imex-channel-host-path",
            "/h/o/driver/dev/nvidia-caps-imex-channels",
        ),
    ] {
        assert_eq!(field(&start, flag), path);
    }
}

#[test]
fn words_fold_ascii_case_only() {
    let start = resolved(&["--log-level=DeBuG", "--log-format=jSON"], &[]);
    assert_eq!(field(&start, "log-level"), "debug");
    assert_eq!(field(&start, "log-format"), "json");
    // A dotless i and a long s, which are i and s in upper case.
    for arg in ["--log-level=\u{131}nfo", "--log-format=j\u{17f}on"] {
        let refused = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
            .arg(arg)
            .env_clear()
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(1), "{arg}");
    }
}

#[test]
fn the_flag_of_the_feature_gates_replaces_its_variable() {
    let states = |args: &[&str], variables: &[(&str, &str)]| -> Vec<bool> {
        let lines = logged(&[args, &["--health-addr="]].concat(), variables);
        let gates = lines.iter().filter(|line| line["msg"] == "feature gate");
        gates
            .map(|line| line["enabled"].as_bool().unwrap())
            .collect()
    };
    let variable = [("MOKKA_FEATURE_GATES", "RealDriverGuard=false")];
    assert_eq!(states(&[], &[]), [false, true]);
    assert_eq!(states(&[], &variable), [false, false]);
    let flag = "--feature-gates=RequireStagedOverlay=true";
    assert_eq!(states(&[flag], &variable), [true, true]);
    assert_eq!(states(&["--feature-gates="], &variable), [false, true]);
}

/// What the chart renders.
const RENDERED: &str = "\
  --socket-path=/var/run/nri/nri.sock
  --plugin-name=nvml-mock
  --plugin-index=10
  --overlay-host-path=/var/lib/nvml-mock
  --overlay-mount-path=/opt/nvml-mock
  --device-host-path=/var/lib/nvml-mock/driver/dev
  --opt-out-annotation=nvml-mock.nvidia.com/inject
  --device-annotation=nvml-mock.nvidia.com/devices
  --device-injection-mode=raw
  --cdi-spec-host-path=/var/run/cdi/nvml-mock-nri.yaml
  --imex-channel-annotation=nvml-mock.nvidia.com/imex-channels
  --imex-channel-host-path=/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels
  --infiniband-annotation=nvml-mock.nvidia.com/infiniband
  --excluded-namespaces=<release-namespace>,kube-system
  --node-name=$(NODE_NAME)
  --health-addr=:8080
  --log-level=info
  --log-format=json";

#[test]
fn the_command_line_that_the_chart_renders_is_taken() {
    let mut args: Vec<_> = RENDERED.split_whitespace().collect();
    // Others may listen at that port of the machine.
    args.push("--health-addr=127.0.0.1:0");
    let start = resolved(&args, &[]);
    for (flag, value) in [
        ("plugin-name", "nvml-mock"),
        ("excluded-namespaces", "<release-namespace>,kube-system"),
        ("node-name", "$(NODE_NAME)"),
        ("socket-path", "/var/run/nri/nri.sock"),
        (
            "topology-mount-path",
            "/opt/nvml-mock/topology/topology.yaml",
        ),
    ] {
        assert_eq!(field(&start, flag), value);
    }
}

#[test]
fn the_log_goes_to_the_file_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("plugin.log");
    let path = file.to_str().unwrap();
    let arg = format!("--log-file={path}");
    for (args, variables) in [
        (&[arg.as_str()][..], &[][..]),
        (&[], &[("MOKKA_LOG_FILE", path)]),
    ] {
        let lines = logged(&[args, &["--health-addr="]].concat(), variables);
        assert_eq!(lines, [] as [Value; 0], "stdout");
        let log = std::fs::read_to_string(&file).unwrap();
        let start: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        assert_eq!(field(&start, "log-file"), path);
        std::fs::remove_file(&file).unwrap();
    }
    assert_eq!(field(&resolved(&["--log-file="], &[]), "log-file"), "");
}

#[test]
fn a_log_file_that_cannot_be_written_is_an_error_that_names_it() {
    let refused = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .args(["--log-file=/dev/null/plugin.log", "--health-addr="])
        .env_clear()
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "nri-plugin: cannot write the log to /dev/null/plugin.log: Not a directory (os error 20); \
         choose another --log-file\n"
    );
}
