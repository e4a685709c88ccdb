//! The flags, their environment variables, and which of the two counts.

use std::collections::BTreeMap;

/// A process's arguments, without its own name, and the environment variables that it looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The arguments in order.
    pub arguments: Vec<String>,
    /// The environment.
    pub environment: BTreeMap<String, String>,
}

/// How often a flag counts, and whether it takes a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The last one counts.
    Last,
    /// Every one adds to the list.
    List,
    /// Alone it means true, and never takes the argument that follows.
    Boolean,
}

/// Every flag, and the environment variable that counts where the flag is not given.
const FLAGS: [(&str, &str, Kind); 26] = [
    ("feature-gates", "MOKKA_FEATURE_GATES", Kind::Last),
    ("log-level", "MOKKA_LOG_LEVEL", Kind::Last),
    ("log-format", "MOKKA_LOG_FORMAT", Kind::Last),
    ("log-file", "MOKKA_LOG_FILE", Kind::Last),
    ("health-addr", "MOKKA_NRI_HEALTH_ADDR", Kind::Last),
    ("agent-staged-url", "MOKKA_NRI_AGENT_STAGED_URL", Kind::Last),
    (
        "staging-lock-path",
        "MOKKA_NRI_STAGING_LOCK_PATH",
        Kind::Last,
    ),
    ("socket-path", "MOKKA_NRI_SOCKET_PATH", Kind::Last),
    ("plugin-name", "MOKKA_NRI_PLUGIN_NAME", Kind::Last),
    ("plugin-index", "MOKKA_NRI_PLUGIN_INDEX", Kind::Last),
    (
        "excluded-namespaces",
        "MOKKA_NRI_EXCLUDED_NAMESPACES",
        Kind::List,
    ),
    (
        "opt-out-annotation",
        "MOKKA_NRI_OPT_OUT_ANNOTATION",
        Kind::Last,
    ),
    (
        "overlay-host-path",
        "MOKKA_NRI_OVERLAY_HOST_PATH",
        Kind::Last,
    ),
    (
        "overlay-mount-path",
        "MOKKA_NRI_OVERLAY_MOUNT_PATH",
        Kind::Last,
    ),
    ("ld-preload-shims", "MOKKA_NRI_LD_PRELOAD_SHIMS", Kind::List),
    ("node-name", "NODE_NAME", Kind::Last),
    (
        "topology-host-path",
        "MOKKA_NRI_TOPOLOGY_HOST_PATH",
        Kind::Last,
    ),
    (
        "topology-mount-path",
        "MOKKA_NRI_TOPOLOGY_MOUNT_PATH",
        Kind::Last,
    ),
    (
        "device-annotation",
        "MOKKA_NRI_DEVICE_ANNOTATION",
        Kind::Last,
    ),
    ("device-host-path", "MOKKA_NRI_DEVICE_HOST_PATH", Kind::Last),
    (
        "device-injection-mode",
        "MOKKA_NRI_DEVICE_INJECTION_MODE",
        Kind::Last,
    ),
    ("cdi-device-name", "MOKKA_NRI_CDI_DEVICE_NAME", Kind::Last),
    (
        "cdi-spec-host-path",
        "MOKKA_NRI_CDI_SPEC_HOST_PATH",
        Kind::Last,
    ),
    (
        "infiniband-annotation",
        "MOKKA_NRI_INFINIBAND_ANNOTATION",
        Kind::Last,
    ),
    (
        "imex-channel-annotation",
        "MOKKA_NRI_IMEX_CHANNEL_ANNOTATION",
        Kind::Last,
    ),
    (
        "imex-channel-host-path",
        "MOKKA_NRI_IMEX_CHANNEL_HOST_PATH",
        Kind::Last,
    ),
];

/// The flag that is not on the product's page.
const COMPUTE_DOMAIN_STAGING: (&str, &str, Kind) = (
    "compute-domain-staging",
    "MOKKA_NRI_COMPUTE_DOMAIN_STAGING",
    Kind::Boolean,
);

/// The text given for each flag, from its arguments or else from its environment variable.
#[derive(Debug)]
pub struct Given(BTreeMap<&'static str, Vec<String>>);

impl Given {
    /// Sorts the command line out by flag.
    pub fn read(command_line: &CommandLine) -> Result<Self, &'static str> {
        let known: Vec<_> = FLAGS.into_iter().chain([COMPUTE_DOMAIN_STAGING]).collect();
        let mut given: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut arguments = command_line.arguments.iter();
        while let Some(argument) = arguments.next() {
            // It ends the flags, and nothing but flags is taken.
            if argument == "--" {
                match arguments.next() {
                    None => break,
                    Some(_) => return Err("an argument that is no flag"),
                }
            }
            // `-name` is taken as `--name`.
            let Some(flag) = argument.strip_prefix("--").or(argument.strip_prefix('-')) else {
                return Err("an argument that is no flag");
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (flag, None),
            };
            let Some(&(name, _, kind)) = known.iter().find(|(known, _, _)| *known == name) else {
                return Err("an unknown flag");
            };
            let value = match (value, kind) {
                (Some(value), _) => value,
                (None, Kind::Boolean) => "true".into(),
                (None, _) => arguments.next().ok_or("a flag without its value")?.clone(),
            };
            let values = given.entry(name).or_default();
            if kind != Kind::List {
                values.clear();
            }
            values.push(value);
        }
        for (name, variable, _) in known {
            // The flag wins when both are set: the variable is then not even looked at.
            if let Some(value) = command_line.environment.get(variable) {
                given.entry(name).or_insert_with(|| vec![value.clone()]);
            }
        }
        Ok(Self(given))
    }

    /// The text, or nothing where neither was given, or it is empty.
    pub fn text(&self, flag: &str) -> Option<&str> {
        let values = self.0.get(flag)?;
        values
            .last()
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// The items, trimmed, empty ones dropped; nothing where neither was given.
    pub fn list(&self, flag: &str) -> Option<Vec<&str>> {
        let values = self.0.get(flag)?;
        let items = values.iter().flat_map(|value| value.split(','));
        Some(
            items
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .collect(),
        )
    }

    /// Given at all, be it as the empty text.
    pub fn is_given(&self, flag: &str) -> bool {
        self.0.contains_key(flag)
    }
}
