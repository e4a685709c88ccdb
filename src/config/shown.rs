//! The configuration as text: in the first line of the log, and as a command line that says all of it.

use super::Config;
use crate::version;

/// Each flag with what it was resolved to, as it could be typed. What is off is empty.
macro_rules! shown {
    ($config:ident: $($flag:ident = $value:expr,)+) => {
        impl Config {
            /// The arguments that say all of it.
            pub fn command_line(&self) -> Vec<String> {
                let $config = self;
                vec![$(format!("--{}={}", stringify!($flag).replace('_', "-"), $value)),+]
            }

            /// Logs all of it, in one line.
            pub fn log(&self) {
                let $config = self;
                tracing::info!(
                    version = version::VERSION,
                    commit = version::COMMIT,
                    $($flag = $value,)+
                    "starting",
                );
            }
        }
    };
}

shown! { config:
    feature_gates = config.feature_gates.to_string(),
    log_level = config.log_level.to_string(),
    log_format = config.log_format.to_string(),
    log_file = text(config.log_file.as_ref()),
    health_addr = text(config.health_addr.as_ref()),
    agent_staged_url = text(config.staging_gate.as_ref().map(|gate| &gate.url)),
    staging_lock_path = text(config.staging_gate.as_ref().map(|gate| &gate.lock_path)),
    socket_path = config.socket_path.as_str(),
    plugin_name = config.plugin_name.as_str(),
    plugin_index = config.plugin_index.as_str(),
    excluded_namespaces = config.excluded_namespaces.iter().cloned().collect::<Vec<_>>().join(","),
    opt_out_annotation = config.opt_out_annotation.as_str(),
    overlay_host_path = config.overlay_host_path.as_str(),
    overlay_mount_path = config.overlay_mount_path.as_str(),
    ld_preload_shims = config.ld_preload_shims.join(","),
    node_name = text(config.node_name.as_ref()),
    topology_host_path = config.topology_host_path.as_str(),
    topology_mount_path = config.topology_mount_path.as_str(),
    device_annotation = config.device_annotation.as_str(),
    device_host_path = config.device_host_path.as_str(),
    device_injection_mode = config.device_injection_mode.to_string(),
    cdi_device_name = config.cdi_device_name.as_str(),
    cdi_spec_host_path = config.cdi_spec_host_path.as_str(),
    infiniband_annotation = config.infiniband_annotation.as_str(),
    imex_channel_annotation = config.imex_channel_annotation.as_str(),
    imex_channel_host_path = config.imex_channel_host_path.as_str(),
    compute_domain_staging = config.compute_domain_staging,
}

fn text(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
