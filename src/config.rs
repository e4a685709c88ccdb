//! What the plugin runs with: everything that follows from the flags, derived and checked in one place.

mod cdi_name;
mod error;
mod health_addr;
mod host;
mod registration;
mod shown;
mod staging_gate;
#[cfg(test)]
mod tests;
mod values;

use std::collections::BTreeSet;
use std::fmt;

use tracing::level_filters::LevelFilter;

pub use error::{Cause, ConfigError};
pub use health_addr::HealthAddr;
pub use staging_gate::{AgentUrl, StagingGate};

use crate::feature_gates::FeatureGates;
use crate::flags::Flags;
use crate::logging;
use crate::path::{self, AbsolutePath};
use values::{absolute, boolean, choice, filled, items, text};

/// Default of --plugin-name.
pub(crate) const PLUGIN_NAME: &str = "mokka-nri-plugin";
/// Default of --plugin-index.
pub(crate) const PLUGIN_INDEX: &str = "10";
/// The preloaded libraries, in preload order, below the overlay.
const LD_PRELOAD_SHIMS: [&str; 4] = [
    "driver/usr/local/lib/libibmockumad.so.1",
    "driver/usr/local/lib/libibmockverbs.so.1",
    "driver/usr/local/lib/libibmocksys.so.1",
    "driver/usr/local/lib/libmockfs.so.1",
];
/// The topology document, below the overlay on either side.
const TOPOLOGY: &str = "topology/topology.yaml";

/// The words for the least severe log line that is written.
const LOG_LEVELS: [(&str, LevelFilter); 5] = [
    ("debug", LevelFilter::DEBUG),
    ("info", LevelFilter::INFO),
    ("warn", LevelFilter::WARN),
    ("warning", LevelFilter::WARN),
    ("error", LevelFilter::ERROR),
];
/// The words for how log lines are written.
const LOG_FORMATS: [(&str, logging::Format); 2] = [
    ("json", logging::Format::Json),
    ("plain", logging::Format::Plain),
];
/// The words for how GPUs are delivered.
const MODES: [(&str, DeviceInjectionMode); 2] = [
    ("raw", DeviceInjectionMode::Raw),
    ("cdi", DeviceInjectionMode::Cdi),
];

/// The resolved configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The state of every feature gate.
    pub feature_gates: FeatureGates,
    /// The least severe log line that is written.
    pub log_level: LevelFilter,
    /// How log lines are written.
    pub log_format: logging::Format,
    /// The file that takes the log in place of stdout.
    pub log_file: Option<AbsolutePath>,
    /// Where the probes listen, if anywhere.
    pub health_addr: Option<HealthAddr>,
    /// What is asked before a container is adjusted, if anything.
    pub staging_gate: Option<StagingGate>,
    /// The runtime's NRI socket.
    pub socket_path: String,
    /// The name to register under.
    pub plugin_name: String,
    /// The order among plugins, two digits.
    pub plugin_index: String,
    /// Namespaces whose pods are left alone.
    pub excluded_namespaces: BTreeSet<String>,
    /// The annotation whose `false` keeps a pod as it is.
    pub opt_out_annotation: String,
    /// The overlay on the host.
    pub overlay_host_path: AbsolutePath,
    /// The overlay in the container.
    pub overlay_mount_path: AbsolutePath,
    /// The preloaded libraries in preload order, as paths in the container. Absolute ones are as they were typed.
    pub ld_preload_shims: Vec<String>,
    /// The Kubernetes node, if it was told.
    pub node_name: Option<String>,
    /// The topology document on the host.
    pub topology_host_path: AbsolutePath,
    /// The topology document in the container.
    pub topology_mount_path: AbsolutePath,
    /// The annotation whose `true` asks for all mock GPUs.
    pub device_annotation: String,
    /// The directory of the GPU nodes on the host.
    pub device_host_path: AbsolutePath,
    /// How the devices annotation delivers GPUs.
    pub device_injection_mode: DeviceInjectionMode,
    /// The CDI device that is delivered in `cdi` mode.
    pub cdi_device_name: String,
    /// The CDI specification that must be there for it.
    pub cdi_spec_host_path: AbsolutePath,
    /// The annotation whose `true` asks for the mock InfiniBand tools.
    pub infiniband_annotation: String,
    /// The annotation whose `true` asks for the mock IMEX channels.
    pub imex_channel_annotation: String,
    /// The directory of the IMEX channel nodes on the host.
    pub imex_channel_host_path: AbsolutePath,
    /// Whether ComputeDomain daemons are given their files.
    pub compute_domain_staging: bool,
}

/// How the devices annotation delivers GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceInjectionMode {
    /// As device nodes.
    Raw,
    /// As one CDI device, which the runtime resolves.
    Cdi,
}

impl fmt::Display for DeviceInjectionMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Raw => "raw",
            Self::Cdi => "cdi",
        })
    }
}

impl Config {
    /// Derives the configuration from what was typed. An empty value is the default, except where it means
    /// off or none; derived paths follow what the overlay flags ended up being.
    ///
    /// # Errors
    ///
    /// The first value that could not work.
    pub fn resolve(flags: Flags) -> Result<Self, ConfigError> {
        let overlay_host = absolute(
            "overlay-host-path",
            flags.overlay_host_path,
            "/var/lib/nvml-mock",
        )?;
        let overlay_mount = values::overlay_mount(flags.overlay_mount_path, "/opt/nvml-mock")?;
        let on_host = |flag, path, below| absolute(flag, path, overlay_host.join(below).as_str());
        let in_container =
            |flag, path, below| absolute(flag, path, overlay_mount.join(below).as_str());
        // The program that this one replaces took the mode with blanks around it.
        let mode = flags
            .device_injection_mode
            .map(|mode| mode.trim().to_owned());
        let mode = choice(
            "device-injection-mode",
            mode,
            DeviceInjectionMode::Raw,
            &MODES,
        )?;
        let cdi_device_name = text(flags.cdi_device_name, "nvml-mock.nvidia.com/gpu=all");
        if mode == DeviceInjectionMode::Cdi {
            cdi_name::check(&cdi_device_name).map_err(|cause| {
                ConfigError::invalid("cdi-device-name", &cdi_device_name, cause)
            })?;
        }
        let gates = flags.feature_gates.unwrap_or_default();
        let feature_gates = FeatureGates::parse(&gates)
            .map_err(|error| ConfigError::invalid("feature-gates", &gates, error))?;

        Ok(Self {
            feature_gates,
            log_level: choice("log-level", flags.log_level, LevelFilter::INFO, &LOG_LEVELS)?,
            log_format: choice(
                "log-format",
                flags.log_format,
                logging::Format::Json,
                &LOG_FORMATS,
            )?,
            log_file: filled(flags.log_file)
                .map(|path| absolute("log-file", Some(path), ""))
                .transpose()?,
            health_addr: HealthAddr::parse(flags.health_addr.as_deref().unwrap_or(":8080"))?,
            staging_gate: StagingGate::resolve(
                flags.agent_staged_url,
                flags.staging_lock_path,
                &overlay_host,
            )?,
            socket_path: path::clean(&text(flags.socket_path, "/var/run/nri/nri.sock"))
                .into_owned(),
            plugin_name: registration::name(text(flags.plugin_name, PLUGIN_NAME))?,
            plugin_index: registration::index(text(flags.plugin_index, PLUGIN_INDEX))?,
            excluded_namespaces: match flags.excluded_namespaces {
                Some(lists) => items(lists).collect(),
                None => BTreeSet::from(["kube-system".to_owned()]),
            },
            opt_out_annotation: text(flags.opt_out_annotation, "nvml-mock.nvidia.com/inject"),
            ld_preload_shims: shims(flags.ld_preload_shims.unwrap_or_default(), &overlay_mount),
            node_name: filled(flags.node_name),
            topology_host_path: on_host("topology-host-path", flags.topology_host_path, TOPOLOGY)?,
            topology_mount_path: in_container(
                "topology-mount-path",
                flags.topology_mount_path,
                TOPOLOGY,
            )?,
            device_annotation: text(flags.device_annotation, "nvml-mock.nvidia.com/devices"),
            device_host_path: on_host("device-host-path", flags.device_host_path, "driver/dev")?,
            device_injection_mode: mode,
            cdi_device_name,
            cdi_spec_host_path: absolute(
                "cdi-spec-host-path",
                flags.cdi_spec_host_path,
                "/var/run/cdi/nvml-mock-nri.yaml",
            )?,
            infiniband_annotation: text(
                flags.infiniband_annotation,
                "nvml-mock.nvidia.com/infiniband",
            ),
            imex_channel_annotation: text(
                flags.imex_channel_annotation,
                "nvml-mock.nvidia.com/imex-channels",
            ),
            imex_channel_host_path: on_host(
                "imex-channel-host-path",
                flags.imex_channel_host_path,
                "driver/dev/nvidia-caps-imex-channels",
            )?,
            compute_domain_staging: boolean(
                "compute-domain-staging",
                flags.compute_domain_staging,
            )?,
            overlay_host_path: overlay_host,
            overlay_mount_path: overlay_mount,
        })
    }
}

impl Config {
    /// The defaults with what `flags` say of the log and the probes, each as far as it can be resolved: enough to tell
    /// why all of them cannot.
    pub fn that_tells(flags: &Flags) -> Self {
        let mut kept = Flags {
            health_addr: Some(String::new()),
            ..Flags::default()
        };
        let mut config = Self::resolve(kept.clone()).expect("the defaults can be resolved");
        let takes: [fn(&mut Flags, &Flags); 4] = [
            |kept, flags| kept.log_level.clone_from(&flags.log_level),
            |kept, flags| kept.log_format.clone_from(&flags.log_format),
            |kept, flags| kept.log_file.clone_from(&flags.log_file),
            |kept, flags| kept.health_addr.clone_from(&flags.health_addr),
        ];
        for take in takes {
            let mut more = kept.clone();
            take(&mut more, flags);
            if let Ok(resolved) = Self::resolve(more.clone()) {
                (kept, config) = (more, resolved);
            }
        }
        config
    }
}

/// The shims as paths in the container. An absolute one stays as it was typed.
fn shims(lists: Vec<String>, overlay_mount: &AbsolutePath) -> Vec<String> {
    let mut shims: Vec<String> = items(lists).collect();
    if shims.is_empty() {
        shims = LD_PRELOAD_SHIMS.map(str::to_owned).to_vec();
    }
    for shim in &mut shims {
        if !shim.starts_with('/') {
            *shim = overlay_mount.join(shim).to_string();
        }
    }
    shims
}
