//! The flags, as documented, in the built plugin: what each resolves to stands in the first line of the log.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use serde_json::Value;

/// A flag's name, its variable, its default, another value, and what that one resolves to.
type Flag = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// All flags but the feature gates, which are logged one by one.
const FLAGS: [Flag; 25] = [
    ("log-level", "MOKKA_LOG_LEVEL", "info", "DEBUG", "debug"),
    ("log-format", "MOKKA_LOG_FORMAT", "json", "JSON", "json"),
    (
        "health-addr",
        "MOKKA_NRI_HEALTH_ADDR",
        ":8080",
        "127.0.0.1:0",
        "127.0.0.1:0",
    ),
    (
        "agent-staged-url",
        "MOKKA_NRI_AGENT_STAGED_URL",
        "",
        "http://agent",
        "http://agent:80/",
    ),
    (
        "staging-lock-path",
        "MOKKA_NRI_STAGING_LOCK_PATH",
        "",
        "/run//lock",
        "/run/lock",
    ),
    (
        "socket-path",
        "MOKKA_NRI_SOCKET_PATH",
        "/var/run/nri/nri.sock",
        "/nowhere/./nri.sock",
        "/nowhere/nri.sock",
    ),
    (
        "plugin-name",
        "MOKKA_NRI_PLUGIN_NAME",
        "mokka-nri-plugin",
        "nvml-mock",
        "nvml-mock",
    ),
    ("plugin-index", "MOKKA_NRI_PLUGIN_INDEX", "10", "07", "07"),
    (
        "excluded-namespaces",
        "MOKKA_NRI_EXCLUDED_NAMESPACES",
        "kube-system",
        " b ,,a",
        "a,b",
    ),
    (
        "opt-out-annotation",
        "MOKKA_NRI_OPT_OUT_ANNOTATION",
        "nvml-mock.nvidia.com/inject",
        "k/out",
        "k/out",
    ),
    (
        "overlay-host-path",
        "MOKKA_NRI_OVERLAY_HOST_PATH",
        "/var/lib/nvml-mock",
        "/host/",
        "/host",
    ),
    (
        "overlay-mount-path",
        "MOKKA_NRI_OVERLAY_MOUNT_PATH",
        "/opt/nvml-mock",
        "/x/../mount",
        "/mount",
    ),
    (
        "ld-preload-shims",
        "MOKKA_NRI_LD_PRELOAD_SHIMS",
        "/opt/nvml-mock/driver/usr/local/lib/libibmockumad.so.1,\
         /opt/nvml-mock/driver/usr/local/lib/libibmockverbs.so.1,\
         /opt/nvml-mock/driver/usr/local/lib/libibmocksys.so.1,\
         /opt/nvml-mock/driver/usr/local/lib/libmockfs.so.1",
        "b.so, /a.so",
        "/opt/nvml-mock/b.so,/a.so",
    ),
    ("node-name", "NODE_NAME", "", "node-1", "node-1"),
    (
        "topology-host-path",
        "MOKKA_NRI_TOPOLOGY_HOST_PATH",
        "/var/lib/nvml-mock/topology/topology.yaml",
        "/t",
        "/t",
    ),
    (
        "topology-mount-path",
        "MOKKA_NRI_TOPOLOGY_MOUNT_PATH",
        "/opt/nvml-mock/topology/topology.yaml",
        "/t",
        "/t",
    ),
    (
        "device-annotation",
        "MOKKA_NRI_DEVICE_ANNOTATION",
        "nvml-mock.nvidia.com/devices",
        "k/gpu",
        "k/gpu",
    ),
    (
        "device-host-path",
        "MOKKA_NRI_DEVICE_HOST_PATH",
        "/var/lib/nvml-mock/driver/dev",
        "/dev",
        "/dev",
    ),
    (
        "device-injection-mode",
        "MOKKA_NRI_DEVICE_INJECTION_MODE",
        "raw",
        "CDI",
        "cdi",
    ),
    (
        "cdi-device-name",
        "MOKKA_NRI_CDI_DEVICE_NAME",
        "nvml-mock.nvidia.com/gpu=all",
        "v/c=d",
        "v/c=d",
    ),
    (
        "cdi-spec-host-path",
        "MOKKA_NRI_CDI_SPEC_HOST_PATH",
        "/var/run/cdi/nvml-mock-nri.yaml",
        "/s",
        "/s",
    ),
    (
        "infiniband-annotation",
        "MOKKA_NRI_INFINIBAND_ANNOTATION",
        "nvml-mock.nvidia.com/infiniband",
        "k/ib",
        "k/ib",
    ),
    (
        "imex-channel-annotation",
        "MOKKA_NRI_IMEX_CHANNEL_ANNOTATION",
        "nvml-mock.nvidia.com/imex-channels",
        "k/imex",
        "k/imex",
    ),
    (
        "imex-channel-host-path",
        "MOKKA_NRI_IMEX_CHANNEL_HOST_PATH",
        "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels",
        "/i",
        "/i",
    ),
    (
        "compute-domain-staging",
        "MOKKA_NRI_COMPUTE_DOMAIN_STAGING",
        "false",
        "T",
        "true",
    ),
];

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
fn every_flag_has_its_documented_default() {
    let start = resolved(&[], &[]);
    for (flag, _, default, ..) in FLAGS {
        // The default would listen where others may.
        if flag != "health-addr" {
            assert_eq!(field(&start, flag), default, "{flag}");
        }
    }
}

#[test]
fn every_flag_is_taken_with_one_dash_or_two() {
    for (flag, _, _, value, meaning) in FLAGS {
        for dashes in ["-", "--"] {
            let arg = format!("{dashes}{flag}={value}");
            let start = resolved(&[&arg, other_half(flag)], &[]);
            assert_eq!(field(&start, flag), meaning, "{arg}");
        }
    }
}

#[test]
fn every_flag_is_taken_from_its_variable() {
    for (flag, variable, _, value, meaning) in FLAGS {
        let start = resolved(&[other_half(flag)], &[(variable, value)]);
        assert_eq!(field(&start, flag), meaning, "{variable}={value}");
    }
}

#[test]
fn the_flag_wins_when_both_are_set() {
    for (flag, variable, default, value, meaning) in FLAGS {
        let arg = format!("--{flag}={value}");
        let start = resolved(&[&arg, other_half(flag)], &[(variable, default)]);
        assert_eq!(field(&start, flag), meaning, "{flag}");
    }
}

#[test]
fn an_empty_value_is_the_default_or_off() {
    for (flag, variable, default, ..) in FLAGS {
        let expected = match flag {
            "health-addr" | "excluded-namespaces" => "",
            _ => default,
        };
        for (args, variables) in [
            (&[format!("--{flag}=").as_str()][..], &[][..]),
            (&[], &[(variable, "")]),
        ] {
            let start = resolved(args, variables);
            assert_eq!(field(&start, flag), expected, "{args:?} {variables:?}");
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
