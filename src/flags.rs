//! What the user typed: the command line, and under it the environment. Nothing is checked or derived here.

#![expect(
    rustdoc::invalid_html_tags,
    reason = "the fields' comments are the help text, where a flag's value is <flag-name>"
)]

pub(crate) mod boolean;
mod command_line;
mod configuration;
mod error;
#[cfg(test)]
mod tests;

use clap::Parser;
use serde::Serialize;

pub use command_line::Invocation;
pub use error::FlagError;

/// The end of the help.
const INSTALLING: &str = "\
To have the runtime start it, also right after a reboot of the node:
  nri-plugin install [--root=DIR] [OPTIONS]
          Copy the program to DIR/opt/nri/plugins, and OPTIONS and the variables as its configuration to
          DIR/etc/nri/conf.d; DIR is / by default
  nri-plugin uninstall [--root=DIR] [OPTIONS]
          Remove what was installed under the same --plugin-name and --plugin-index";

/// Gives containers mock GPUs as the runtime creates them.
///
/// Connects to containerd's NRI socket, is asked about each container before it is created, and adds the
/// mock driver overlay, its environment and its device nodes to containers that hold a GPU allocation or
/// whose pod opts in by annotation. Every flag also reads an environment variable; the flag wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Parser, Serialize)]
#[serde(rename_all = "kebab-case")]
#[command(name = "nri-plugin", version = crate::version::VERSION, no_binary_name = true, args_override_self = true, after_help = INSTALLING)]
pub struct Flags {
    /// Comma-separated Name=true|false pairs [default: none].
    #[arg(long, env = "MOKKA_FEATURE_GATES", value_name = "GATES")]
    pub feature_gates: Option<String>,

    /// debug, info, warn or error; warning is an alias of warn [default: info].
    #[arg(long, env = "MOKKA_LOG_LEVEL", value_name = "LEVEL")]
    pub log_level: Option<String>,

    /// json or plain [default: json].
    #[arg(long, env = "MOKKA_LOG_FORMAT", value_name = "FORMAT")]
    pub log_format: Option<String>,

    /// Log to this file, not to stdout; at 1 MiB it is renamed to PATH.1, in place of an older one [default: none].
    #[arg(long, env = "MOKKA_LOG_FILE", value_name = "PATH")]
    pub log_file: Option<String>,

    /// Address of /healthz, /readyz and /metrics; empty disables them [default: :8080].
    #[arg(long, env = "MOKKA_NRI_HEALTH_ADDR", value_name = "HOST:PORT")]
    pub health_addr: Option<String>,

    /// The node agent's /stagedz; containers are adjusted only while it answers 200. Set together with
    /// --staging-lock-path [default: none].
    #[arg(long, env = "MOKKA_NRI_AGENT_STAGED_URL", value_name = "URL")]
    pub agent_staged_url: Option<String>,

    /// The node agent's lock, held shared while a container is decided; outside the overlay. Set together with
    /// --agent-staged-url [default: none].
    #[arg(long, env = "MOKKA_NRI_STAGING_LOCK_PATH", value_name = "PATH")]
    pub staging_lock_path: Option<String>,

    /// The runtime's NRI socket [default: /var/run/nri/nri.sock].
    #[arg(long, env = "MOKKA_NRI_SOCKET_PATH", value_name = "PATH")]
    pub socket_path: Option<String>,

    /// Name to register with the runtime under [default: mokka-nri-plugin].
    #[arg(long, env = "MOKKA_NRI_PLUGIN_NAME", value_name = "NAME")]
    pub plugin_name: Option<String>,

    /// Two digits; a plugin with a higher index adjusts a container later [default: 10].
    #[arg(long, env = "MOKKA_NRI_PLUGIN_INDEX", value_name = "INDEX")]
    pub plugin_index: Option<String>,

    /// Comma-separated namespaces to skip; empty skips none [default: kube-system].
    #[arg(long, env = "MOKKA_NRI_EXCLUDED_NAMESPACES", value_name = "NAMESPACES")]
    pub excluded_namespaces: Option<Vec<String>>,

    /// Pod annotation whose value false keeps a pod as it is [default: nvml-mock.nvidia.com/inject].
    #[arg(long, env = "MOKKA_NRI_OPT_OUT_ANNOTATION", value_name = "KEY")]
    pub opt_out_annotation: Option<String>,

    /// The overlay on the host [default: /var/lib/nvml-mock].
    #[arg(long, env = "MOKKA_NRI_OVERLAY_HOST_PATH", value_name = "PATH")]
    pub overlay_host_path: Option<String>,

    /// The overlay in the container [default: /opt/nvml-mock].
    #[arg(long, env = "MOKKA_NRI_OVERLAY_MOUNT_PATH", value_name = "PATH")]
    pub overlay_mount_path: Option<String>,

    /// Comma-separated libraries to preload, in this order; absolute, or relative to the overlay mount
    /// [default: driver/usr/local/lib/libibmockumad.so.1, driver/usr/local/lib/libibmockverbs.so.1,
    /// driver/usr/local/lib/libibmocksys.so.1, driver/usr/local/lib/libmockfs.so.1].
    #[arg(long, env = "MOKKA_NRI_LD_PRELOAD_SHIMS", value_name = "PATHS")]
    pub ld_preload_shims: Option<Vec<String>>,

    /// Kubernetes node; with a staged topology document, containers are told their place in it [default: none].
    #[arg(long, env = "NODE_NAME", value_name = "NAME")]
    pub node_name: Option<String>,

    /// The topology document on the host [default: <overlay-host-path>/topology/topology.yaml].
    #[arg(long, env = "MOKKA_NRI_TOPOLOGY_HOST_PATH", value_name = "PATH")]
    pub topology_host_path: Option<String>,

    /// The topology document in the container [default: <overlay-mount-path>/topology/topology.yaml].
    #[arg(long, env = "MOKKA_NRI_TOPOLOGY_MOUNT_PATH", value_name = "PATH")]
    pub topology_mount_path: Option<String>,

    /// Pod annotation whose value true adds every mock GPU [default: nvml-mock.nvidia.com/devices].
    #[arg(long, env = "MOKKA_NRI_DEVICE_ANNOTATION", value_name = "KEY")]
    pub device_annotation: Option<String>,

    /// Directory of the mock /dev/nvidia* nodes on the host [default: <overlay-host-path>/driver/dev].
    #[arg(long, env = "MOKKA_NRI_DEVICE_HOST_PATH", value_name = "PATH")]
    pub device_host_path: Option<String>,

    /// raw (device nodes) or cdi (a CDI reference) [default: raw].
    #[arg(long, env = "MOKKA_NRI_DEVICE_INJECTION_MODE", value_name = "MODE")]
    pub device_injection_mode: Option<String>,

    /// CDI device to inject in cdi mode, fully qualified [default: nvml-mock.nvidia.com/gpu=all].
    #[arg(long, env = "MOKKA_NRI_CDI_DEVICE_NAME", value_name = "DEVICE")]
    pub cdi_device_name: Option<String>,

    /// CDI specification that must resolve it; where none does, raw nodes are injected
    /// [default: /var/run/cdi/nvml-mock-nri.yaml].
    #[arg(long, env = "MOKKA_NRI_CDI_SPEC_HOST_PATH", value_name = "PATH")]
    pub cdi_spec_host_path: Option<String>,

    /// Pod annotation whose value true adds the mock InfiniBand tools [default: nvml-mock.nvidia.com/infiniband].
    #[arg(long, env = "MOKKA_NRI_INFINIBAND_ANNOTATION", value_name = "KEY")]
    pub infiniband_annotation: Option<String>,

    /// Pod annotation whose value true adds the mock IMEX channels [default: nvml-mock.nvidia.com/imex-channels].
    #[arg(long, env = "MOKKA_NRI_IMEX_CHANNEL_ANNOTATION", value_name = "KEY")]
    pub imex_channel_annotation: Option<String>,

    /// Directory of the mock IMEX channel nodes on the host
    /// [default: <overlay-host-path>/driver/dev/nvidia-caps-imex-channels].
    #[arg(long, env = "MOKKA_NRI_IMEX_CHANNEL_HOST_PATH", value_name = "PATH")]
    pub imex_channel_host_path: Option<String>,

    /// Give the DRA driver's ComputeDomain daemon its files, and hold it back until they are staged; alone it
    /// means true [default: false].
    #[arg(
        long,
        env = "MOKKA_NRI_COMPUTE_DOMAIN_STAGING",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub compute_domain_staging: Option<String>,
}
