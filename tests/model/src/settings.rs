//! What the flags mean together, and which of them refuse to start.

use crate::clean::{clean, join};
use crate::command_line::{CommandLine, Given};
use crate::feature_gates::{FeatureGates, boolean};
use crate::network::{is_http_url, is_listening_address};

/// The resolved settings that can change an answer.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which gates are on.
    pub gates: FeatureGates,
    /// A staging gate is to be asked.
    pub asks_staging_gate: bool,
    /// Namespaces whose containers are left alone.
    pub excluded_namespaces: Vec<String>,
    /// The annotation by which a pod opts out.
    pub opt_out_annotation: String,
    /// The annotation by which a pod gets every GPU.
    pub device_annotation: String,
    /// The annotation by which a pod gets InfiniBand.
    pub infiniband_annotation: String,
    /// The annotation by which a pod gets the IMEX channels.
    pub imex_annotation: String,
    /// The overlay on the node.
    pub overlay_host: String,
    /// The overlay in a container.
    pub overlay_mount: String,
    /// The preloaded libraries, as the container sees them.
    pub shims: Vec<String>,
    /// The node's name, where it is known.
    pub node_name: Option<String>,
    /// The topology document on the node.
    pub topology_host: String,
    /// The topology document in a container.
    pub topology_mount: String,
    /// Where the GPUs' nodes are staged.
    pub device_host: String,
    /// Where the IMEX channels' nodes are staged.
    pub imex_host: String,
    /// GPUs are handed out by CDI name.
    pub cdi_mode: bool,
    /// That name.
    pub cdi_device: String,
    /// What must be there before the name is used.
    pub cdi_spec_host: String,
    /// ComputeDomain daemons get what they need.
    pub compute_domain_staging: bool,
}

/// The libraries that are preloaded by default, under the overlay's library directory.
const SHIMS: [&str; 4] = [
    "driver/usr/local/lib/libibmockumad.so.1",
    "driver/usr/local/lib/libibmockverbs.so.1",
    "driver/usr/local/lib/libibmocksys.so.1",
    "driver/usr/local/lib/libmockfs.so.1",
];

impl Settings {
    /// Reads the command line; an error says what it does not take.
    pub fn resolve(command_line: &CommandLine) -> Result<Self, &'static str> {
        let given = Given::read(command_line)?;
        let text = |flag: &str, default: &str| given.text(flag).unwrap_or(default).to_owned();
        let path = |flag: &str, default: &str| -> Result<String, &'static str> {
            let path = clean(given.text(flag).unwrap_or(default));
            if path.starts_with('/') {
                Ok(path)
            } else {
                Err("a relative path")
            }
        };

        let overlay_host = path("overlay-host-path", "/var/lib/nvml-mock")?;
        let overlay_mount = path("overlay-mount-path", "/opt/nvml-mock")?;
        if ["/proc", "/sys", "/dev"].contains(&overlay_mount.as_str()) {
            return Err("an overlay over what the system mounts");
        }
        let under_host = |below: &str| join(&overlay_host, below);

        let cdi_mode = match given
            .text("device-injection-mode")
            .map(|mode| mode.trim().to_ascii_lowercase())
        {
            None => false,
            Some(mode) if mode.is_empty() || mode == "raw" => false,
            Some(mode) if mode == "cdi" => true,
            Some(_) => return Err("an unknown device injection mode"),
        };
        let cdi_device = text("cdi-device-name", "nvml-mock.nvidia.com/gpu=all");
        if cdi_mode && !is_cdi_name(&cdi_device) {
            return Err("a malformed CDI name");
        }

        let shims = match given.list("ld-preload-shims") {
            Some(shims) if !shims.is_empty() => shims,
            _ => SHIMS.to_vec(),
        };
        let resolve_shim = |shim: &&str| {
            if shim.starts_with('/') {
                (*shim).to_owned()
            } else {
                join(&overlay_mount, shim)
            }
        };

        let url = given.text("agent-staged-url");
        let lock = given.text("staging-lock-path");
        if url.is_some() != lock.is_some() {
            return Err("half a staging gate");
        }
        if url.is_some_and(|url| !is_http_url(url)) {
            return Err("a bad URL");
        }
        if let Some(lock) = lock.map(clean) {
            if !lock.starts_with('/') {
                return Err("a relative path");
            }
            if is_inside(&lock, &overlay_host) {
                return Err("a lock inside the overlay");
            }
        }

        let compute_domain_staging = match given.text("compute-domain-staging") {
            None => false,
            Some(value) => boolean(value).ok_or("no boolean")?,
        };
        check_the_rest(&given)?;

        Ok(Self {
            gates: FeatureGates::parse(given.text("feature-gates").unwrap_or_default())?,
            asks_staging_gate: url.is_some(),
            excluded_namespaces: match given.list("excluded-namespaces") {
                Some(namespaces) => namespaces.into_iter().map(String::from).collect(),
                None => vec!["kube-system".into()],
            },
            opt_out_annotation: text("opt-out-annotation", "nvml-mock.nvidia.com/inject"),
            device_annotation: text("device-annotation", "nvml-mock.nvidia.com/devices"),
            infiniband_annotation: text("infiniband-annotation", "nvml-mock.nvidia.com/infiniband"),
            imex_annotation: text(
                "imex-channel-annotation",
                "nvml-mock.nvidia.com/imex-channels",
            ),
            shims: shims.iter().map(resolve_shim).collect(),
            node_name: given.text("node-name").map(String::from),
            topology_host: path("topology-host-path", &under_host("topology/topology.yaml"))?,
            topology_mount: path(
                "topology-mount-path",
                &join(&overlay_mount, "topology/topology.yaml"),
            )?,
            device_host: path("device-host-path", &under_host("driver/dev"))?,
            imex_host: path(
                "imex-channel-host-path",
                &under_host("driver/dev/nvidia-caps-imex-channels"),
            )?,
            cdi_mode,
            cdi_device,
            cdi_spec_host: path("cdi-spec-host-path", "/var/run/cdi/nvml-mock-nri.yaml")?,
            compute_domain_staging,
            overlay_host,
            overlay_mount,
        })
    }
}

/// Settings that change no answer, but can refuse to start.
fn check_the_rest(given: &Given) -> Result<(), &'static str> {
    let one_of = |flag: &str, names: &[&str]| match given.text(flag) {
        None => true,
        Some(value) => names.iter().any(|name| name.eq_ignore_ascii_case(value)),
    };
    if !one_of("log-level", &["debug", "info", "warn", "warning", "error"]) {
        return Err("an unknown log level");
    }
    if !one_of("log-format", &["json", "plain"]) {
        return Err("an unknown log format");
    }
    if given
        .text("log-file")
        .is_some_and(|path| !path.starts_with('/'))
    {
        return Err("a relative path");
    }
    let index = given.text("plugin-index").unwrap_or("10");
    if index.len() != 2 || !index.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("an index that is not two digits");
    }
    let name = given.text("plugin-name").unwrap_or("mokka-nri-plugin");
    if !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_.+-".contains(c))
    {
        return Err("a bad plugin name");
    }
    match given.text("health-addr") {
        Some(address) if !is_listening_address(address) => Err("a bad address"),
        _ => Ok(()),
    }
}

/// The same place, or one below it. Both are cleaned; a path that does not begin at the root is nowhere.
pub fn is_inside(path: &str, directory: &str) -> bool {
    match directory {
        "/" => path.starts_with('/'),
        _ => path == directory || path.starts_with(&format!("{directory}/")),
    }
}

/// `vendor/class=device`, each part as the CDI specification has it.
fn is_cdi_name(name: &str) -> bool {
    let Some((vendor, rest)) = name.split_once('/') else {
        return false;
    };
    let Some((class, device)) = rest.split_once('=') else {
        return false;
    };
    let letter = |c: char| c.is_ascii_alphabetic();
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    let part = |part: &str, first: fn(char) -> bool, inner: &str| {
        part.starts_with(first)
            && part.ends_with(alphanumeric)
            && part.chars().all(|c| alphanumeric(c) || inner.contains(c))
    };
    part(vendor, letter, "_-.") && part(class, letter, "_-.") && part(device, alphanumeric, "_-.:")
}
