//! Command lines.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use clap::CommandFactory as _;
use nri_model::{CommandLine, Settings};
use nri_plugin::flags::Flags;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::text;

/// A flag of the plugin's help, and values to give it.
#[derive(Debug)]
pub(crate) struct Flag {
    /// Its name, without dashes.
    pub(crate) name: String,
    /// Its environment variable.
    pub(crate) variable: String,
    /// Values that it takes.
    pub(crate) good: &'static [&'static str],
    /// Values that keep the process from starting.
    pub(crate) bad: &'static [&'static str],
}

/// Every flag, as the help has it.
pub(crate) static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let flag = |arg: &clap::Arg| {
        let (name, variable) = (arg.get_long()?, arg.get_env()?.to_str()?);
        let kind = arg.get_value_names()?.first()?;
        let (good, bad) = values(name, kind);
        Some(Flag {
            name: name.to_owned(),
            variable: variable.to_owned(),
            good,
            bad,
        })
    };
    Flags::command().get_arguments().filter_map(flag).collect()
});

const KEYS: &[&str] = &[
    "",
    "my.io/key",
    "nvml-mock.nvidia.com/devices",
    "nvml-mock.nvidia.com/infiniband",
    "ü",
];
const RELATIVE: &[&str] = &["rel", ".", "../x", " /x"];

type Values = &'static [&'static str];

/// Values that a flag takes, and values that it refuses: its own, or those of its kind.
fn values(name: &str, kind: &str) -> (Values, Values) {
    match (name, kind) {
        ("feature-gates", _) => (
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
        ("log-level", _) => (&["", "debug", "WARNING", "error"], &["trace", "0"]),
        ("log-format", _) => (&["", "Plain", "json"], &["text"]),
        ("log-file", _) => (&["", "/run//nri-plugin.log"], RELATIVE),
        ("health-addr", _) => (
            &["", ":0", "127.0.0.1:8080", "[::1]:80", "localhost:65535"],
            &["8080", ":65536", ":x", "[::1:80", "::1:80", ":-1", "a b:1"],
        ),
        ("socket-path", _) => (&["", "/run/nri.sock"], &[]),
        ("plugin-name", _) => (&["", "a.b-C_9+"], &["a b", "a/b", "ü"]),
        ("plugin-index", _) => (&["", "00", "99"], &["1", "100", "1x", "٠٠", "-1"]),
        ("excluded-namespaces", _) => (
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
        ("overlay-host-path", _) => (
            &["", "/ov", "/ov//", "/x/../ov/.", "/", "/with space"],
            RELATIVE,
        ),
        ("overlay-mount-path", _) => (
            &["", "/mnt/gpu", "/mnt//gpu/", "/", "/a:b"],
            &["rel", ".", "../x", " /x", "/proc", "/dev/../sys/", "//dev"],
        ),
        ("ld-preload-shims", _) => (
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
        ("node-name", _) => (&["", "node-1", "n=1", " "], &[]),
        ("topology-host-path", _) => (&["", "/t.yaml", "/dev2/../t.yaml"], RELATIVE),
        ("topology-mount-path", _) => {
            (&["", "/etc/t.yaml", "/usr/bin//nvidia-imex.real"], RELATIVE)
        }
        ("device-host-path", _) => (&["", "/dev2", "/dev2/"], RELATIVE),
        ("device-injection-mode", _) => (
            &["", "raw", "cdi", "CDI", " Cdi "],
            &["both", "c d i", "cd\u{131}"],
        ),
        ("cdi-device-name", _) => (&["", "v.io/c=d", "vendor.com/class=0:1"], &[]),
        ("cdi-spec-host-path", _) => (&["", "/t.yaml", "/dev2", "/gone"], &[]),
        ("imex-channel-host-path", _) => (&["", "/dev2", "/ov/driver/dev"], RELATIVE),
        ("agent-staged-url", _) => (
            &["http://10.0.0.1:9000/stagedz", "HTTP://[::1]"],
            &[
                "",
                "https://agent/",
                "http://",
                "agent:80",
                "http://agent:65536/",
            ],
        ),
        ("staging-lock-path", _) => (
            &[
                "/run/lock//staging.lock",
                "/var/lib/nvml-mock/../staging.lock",
            ],
            &["", "staging.lock", "/var/lib/nvml-mock/staging.lock"],
        ),
        (_, "KEY") => (KEYS, &[]),
        (_, "PATH") => (&["", "/given", "/x/../given/"], RELATIVE),
        (_, "BOOL") => (&["true", "1", "True", "false", "0"], &["yes", "maybe"]),
        _ => panic!("--{name}: which values does a {kind} have?"),
    }
}

/// The two flags of the staging gate, which are given together.
const GATE: [(&str, &str); 2] = [
    ("agent-staged-url", "http://127.0.0.1:1/stagedz"),
    ("staging-lock-path", "/lock/staging.lock"),
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
        select(
            FLAGS
                .iter()
                .filter(|flag| GATE.iter().all(|(name, _)| flag.name != *name))
                .collect::<Vec<_>>()
        ),
        select(
            FLAGS
                .iter()
                .filter(|flag| DECISIVE.contains(&&*flag.name))
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
            give(&mut command_line, flag, value, spelling);
        }
        if gated {
            let gate = GATE.map(|(name, value)| format!("--{name}={value}"));
            command_line.arguments.extend(gate);
        }
        command_line
    })
}

fn give(
    CommandLine {
        arguments,
        environment,
    }: &mut CommandLine,
    Flag { name, variable, .. }: &Flag,
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
        environment: BTreeMap::from([(flag.variable.clone(), value.into())]),
        ..Default::default()
    };
    [argument, variable]
}
