//! Command lines.

use std::collections::BTreeMap;

use nri_model::{CommandLine, Settings};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::text;

/// A flag, its environment variable, values that it takes, and values that it refuses.
#[derive(Debug)]
pub(crate) struct Flag {
    /// Its name, without dashes.
    pub(crate) name: &'static str,
    /// Its environment variable.
    pub(crate) variable: &'static str,
    /// Values that it takes.
    pub(crate) good: &'static [&'static str],
    /// Values that keep the process from starting.
    pub(crate) bad: &'static [&'static str],
}

const fn flag(
    name: &'static str,
    variable: &'static str,
    good: &'static [&'static str],
    bad: &'static [&'static str],
) -> Flag {
    Flag {
        name,
        variable,
        good,
        bad,
    }
}

const KEYS: &[&str] = &[
    "",
    "my.io/key",
    "nvml-mock.nvidia.com/devices",
    "nvml-mock.nvidia.com/infiniband",
    "ü",
];
const RELATIVE: &[&str] = &["rel", ".", "../x", " /x"];

/// Every flag.
pub(crate) const FLAGS: &[Flag] = &[
    flag(
        "feature-gates",
        "MOKKA_FEATURE_GATES",
        &[
            "",
            "RequireStagedOverlay=true",
            "RealDriverGuard=false",
            "AllAlpha=true,AllBeta=0",
            " RequireStagedOverlay = T ,",
            "AllAlpha=true,RequireStagedOverlay=false",
            "RequireStagedOverlay=true,RequireStagedOverlay=false",
        ],
        &[
            "Nope=true",
            "RequireStagedOverlay",
            "RealDriverGuard=yes",
            "requirestagedoverlay=true",
            "AllAlpha=",
            "=true",
        ],
    ),
    flag(
        "log-level",
        "MOKKA_LOG_LEVEL",
        &["", "debug", "WARNING", "error"],
        &["trace", "0"],
    ),
    flag(
        "log-format",
        "MOKKA_LOG_FORMAT",
        &["", "Plain", "json"],
        &["text"],
    ),
    flag(
        "log-file",
        "MOKKA_LOG_FILE",
        &["", "/run//nri-plugin.log"],
        RELATIVE,
    ),
    flag(
        "health-addr",
        "MOKKA_NRI_HEALTH_ADDR",
        &["", ":0", "127.0.0.1:8080", "[::1]:80", "localhost:65535"],
        &["8080", ":65536", ":x", "[::1:80", "::1:80", ":-1", "a b:1"],
    ),
    flag(
        "socket-path",
        "MOKKA_NRI_SOCKET_PATH",
        &["", "/run/nri.sock"],
        &[],
    ),
    flag(
        "plugin-name",
        "MOKKA_NRI_PLUGIN_NAME",
        &["", "a.b-C_9+"],
        &["a b", "a/b", "ü"],
    ),
    flag(
        "plugin-index",
        "MOKKA_NRI_PLUGIN_INDEX",
        &["", "00", "99"],
        &["1", "100", "1x", "٠٠", "-1"],
    ),
    flag(
        "excluded-namespaces",
        "MOKKA_NRI_EXCLUDED_NAMESPACES",
        &[
            "",
            ",",
            "default",
            " foo , default ",
            "nvidia,,foo",
            "Default",
        ],
        &[],
    ),
    flag(
        "opt-out-annotation",
        "MOKKA_NRI_OPT_OUT_ANNOTATION",
        KEYS,
        &[],
    ),
    flag(
        "overlay-host-path",
        "MOKKA_NRI_OVERLAY_HOST_PATH",
        &["", "/ov", "/ov//", "/x/../ov/.", "/", "/with space"],
        RELATIVE,
    ),
    flag(
        "overlay-mount-path",
        "MOKKA_NRI_OVERLAY_MOUNT_PATH",
        &["", "/mnt/gpu", "/mnt//gpu/", "/", "/a:b"],
        RELATIVE,
    ),
    flag(
        "ld-preload-shims",
        "MOKKA_NRI_LD_PRELOAD_SHIMS",
        &[
            "",
            ",",
            "a.so",
            "/abs//b.so, a.so",
            "../up.so,,",
            "a.so,a.so",
        ],
        &[],
    ),
    flag("node-name", "NODE_NAME", &["", "node-1", "n=1", " "], &[]),
    flag(
        "topology-host-path",
        "MOKKA_NRI_TOPOLOGY_HOST_PATH",
        &["", "/t.yaml", "/dev2/../t.yaml"],
        RELATIVE,
    ),
    flag(
        "topology-mount-path",
        "MOKKA_NRI_TOPOLOGY_MOUNT_PATH",
        &["", "/etc/t.yaml", "/usr/bin//nvidia-imex.real"],
        RELATIVE,
    ),
    flag(
        "device-annotation",
        "MOKKA_NRI_DEVICE_ANNOTATION",
        KEYS,
        &[],
    ),
    flag(
        "device-host-path",
        "MOKKA_NRI_DEVICE_HOST_PATH",
        &["", "/dev2", "/dev2/"],
        RELATIVE,
    ),
    flag(
        "device-injection-mode",
        "MOKKA_NRI_DEVICE_INJECTION_MODE",
        &["", "raw", "cdi", "CDI", " Cdi "],
        &["both", "c d i", "cd\u{131}"],
    ),
    flag(
        "cdi-device-name",
        "MOKKA_NRI_CDI_DEVICE_NAME",
        &["", "v.io/c=d", "vendor.com/class=0:1"],
        &[],
    ),
    flag(
        "cdi-spec-host-path",
        "MOKKA_NRI_CDI_SPEC_HOST_PATH",
        &["", "/t.yaml", "/dev2", "/gone"],
        &[],
    ),
    flag(
        "infiniband-annotation",
        "MOKKA_NRI_INFINIBAND_ANNOTATION",
        KEYS,
        &[],
    ),
    flag(
        "imex-channel-annotation",
        "MOKKA_NRI_IMEX_CHANNEL_ANNOTATION",
        KEYS,
        &[],
    ),
    flag(
        "imex-channel-host-path",
        "MOKKA_NRI_IMEX_CHANNEL_HOST_PATH",
        &["", "/dev2", "/ov/driver/dev"],
        RELATIVE,
    ),
    flag(
        "compute-domain-staging",
        "MOKKA_NRI_COMPUTE_DOMAIN_STAGING",
        &["true", "1", "True", "false", "0"],
        &["yes", "maybe"],
    ),
];

/// The two flags of the staging gate, which are given together.
const GATE: [(&str, &str, &str); 2] = [
    (
        "agent-staged-url",
        "MOKKA_NRI_AGENT_STAGED_URL",
        "http://127.0.0.1:1/stagedz",
    ),
    (
        "staging-lock-path",
        "MOKKA_NRI_STAGING_LOCK_PATH",
        "/lock/staging.lock",
    ),
];

/// The flags that most often change what is decided.
const DECISIVE: &[&str] = &[
    "node-name",
    "feature-gates",
    "device-injection-mode",
    "compute-domain-staging",
    "topology-mount-path",
    "overlay-host-path",
];

/// How a flag is given.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    TwoDashes,
    OneDash,
    NextArgument,
    Variable,
}

/// A command line that starts.
pub(crate) fn valid_command_line() -> impl Strategy<Value = CommandLine> {
    // Flags that are fine by themselves can be at odds: a lock inside of the overlay.
    given(Just(false)).prop_filter("starts", |command_line| {
        Settings::resolve(command_line).is_ok()
    })
}

/// A command line that mostly starts.
pub(crate) fn command_line() -> impl Strategy<Value = CommandLine> {
    let stray = prop_oneof![
        30 => Just(None),
        1 => select(&["stray", "--nope=1", "-x", "--", "--node-name", ""][..]).prop_map(|arg| Some(arg.to_owned())),
        1 => text().prop_map(Some),
    ];
    (given(prop::bool::weighted(0.03)), stray).prop_map(|(mut command_line, stray)| {
        // Text that asks for help or the version is another matter.
        command_line
            .arguments
            .extend(stray.filter(|arg| !arg.starts_with("-h") && !arg.starts_with("-V")));
        command_line
    })
}

fn given(bad: impl Strategy<Value = bool>) -> impl Strategy<Value = CommandLine> {
    let spelling = select(
        &[
            Spelling::TwoDashes,
            Spelling::OneDash,
            Spelling::NextArgument,
            Spelling::Variable,
        ][..],
    );
    let flag = prop_oneof![
        select(FLAGS.iter().collect::<Vec<_>>()),
        select(
            FLAGS
                .iter()
                .filter(|flag| DECISIVE.contains(&flag.name))
                .collect::<Vec<_>>()
        ),
    ];
    let one = (flag, any::<prop::sample::Index>(), bad, spelling);
    (vec(one, 0..7), prop::bool::weighted(0.3)).prop_map(|(flags, gated)| {
        let mut command_line = CommandLine::default();
        for (flag, value, bad, spelling) in flags {
            let values = if bad && !flag.bad.is_empty() {
                flag.bad
            } else {
                flag.good
            };
            let value = values[value.index(values.len())];
            give(&mut command_line, flag.name, flag.variable, value, spelling);
        }
        if gated {
            for (name, variable, value) in GATE {
                give(
                    &mut command_line,
                    name,
                    variable,
                    value,
                    Spelling::TwoDashes,
                );
            }
        }
        command_line
    })
}

fn give(
    CommandLine {
        arguments,
        environment,
    }: &mut CommandLine,
    name: &str,
    variable: &str,
    value: &str,
    spelling: Spelling,
) {
    // A boolean never takes the argument that follows.
    let boolean = name == "compute-domain-staging";
    match spelling {
        Spelling::NextArgument if !boolean => {
            arguments.extend([format!("--{name}"), value.into()]);
        }
        Spelling::TwoDashes | Spelling::NextArgument => arguments.push(format!("--{name}={value}")),
        Spelling::OneDash => arguments.push(format!("-{name}={value}")),
        Spelling::Variable => {
            environment.insert(variable.into(), value.into());
        }
    }
}

/// Nothing but one flag, given as an argument; and the same as an environment variable.
pub(crate) fn both_ways(flag: &Flag, value: &str) -> [CommandLine; 2] {
    let argument = CommandLine {
        arguments: vec![format!("--{}={value}", flag.name)],
        ..Default::default()
    };
    let variable = CommandLine {
        environment: BTreeMap::from([(flag.variable.into(), value.into())]),
        ..Default::default()
    };
    [argument, variable]
}
