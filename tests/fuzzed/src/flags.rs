//! The command line and what follows from it.

use std::ffi::OsString;

use nri_plugin::config::Config;
use nri_plugin::feature_gates::FeatureGates;
use nri_plugin::flags::{Flags, Invocation};

use crate::assert_one_line;

/// A command line: arguments with a NUL between each two.
pub fn flags(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let flags = match parse(text.split('\0')) {
        Ok(Invocation::Run(flags)) => *flags,
        Ok(Invocation::Print(text)) => return assert!(!text.is_empty()),
        Err(error) => return assert_one_line(error),
    };
    let config = match Config::resolve(flags) {
        Ok(config) => config,
        Err(error) => return assert_one_line(error),
    };
    let again = match parse(written(&config)) {
        Ok(Invocation::Run(flags)) => Config::resolve(*flags),
        other => panic!("{config:?} reads back as {other:?}"),
    };
    let mut again = again.expect("what was accepted is accepted again");
    // A list flag has no way to write a comma, or a blank at an end, that a directory brought into a path.
    let unwritable = |shim: &String| shim.contains(',') || shim.trim() != shim;
    if config.ld_preload_shims.iter().any(unwritable) {
        again.ld_preload_shims.clone_from(&config.ld_preload_shims);
    }
    assert_eq!(again, config);
}

fn parse(
    args: impl IntoIterator<Item = impl Into<OsString>>,
) -> Result<Invocation, nri_plugin::flags::FlagError> {
    Flags::parse(args.into_iter().map(Into::into), |_| None)
}

/// The command line that says all of `config`.
fn written(config: &Config) -> Vec<String> {
    // Named one by one, so that a flag that is not looked at is a compile error.
    let Config {
        feature_gates,
        log_level,
        log_format,
        log_file,
        health_addr,
        staging_gate,
        socket_path,
        plugin_name,
        plugin_index,
        excluded_namespaces,
        opt_out_annotation,
        overlay_host_path,
        overlay_mount_path,
        ld_preload_shims,
        node_name,
        topology_host_path,
        topology_mount_path,
        device_annotation,
        device_host_path,
        device_injection_mode,
        cdi_device_name,
        cdi_spec_host_path,
        infiniband_annotation,
        imex_channel_annotation,
        imex_channel_host_path,
        compute_domain_staging,
    } = config;
    let namespaces: Vec<_> = excluded_namespaces.iter().map(String::as_str).collect();
    let mut args = vec![
        format!("--feature-gates={}", states(feature_gates)),
        format!("--log-level={log_level}"),
        format!("--log-format={log_format}"),
        format!(
            "--log-file={}",
            log_file
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default()
        ),
        format!(
            "--health-addr={}",
            health_addr
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default()
        ),
        format!("--socket-path={socket_path}"),
        format!("--plugin-name={plugin_name}"),
        format!("--plugin-index={plugin_index}"),
        format!("--excluded-namespaces={}", namespaces.join(",")),
        format!("--opt-out-annotation={opt_out_annotation}"),
        format!("--overlay-host-path={overlay_host_path}"),
        format!("--overlay-mount-path={overlay_mount_path}"),
        format!("--ld-preload-shims={}", ld_preload_shims.join(",")),
        format!("--node-name={}", node_name.as_deref().unwrap_or_default()),
        format!("--topology-host-path={topology_host_path}"),
        format!("--topology-mount-path={topology_mount_path}"),
        format!("--device-annotation={device_annotation}"),
        format!("--device-host-path={device_host_path}"),
        format!("--device-injection-mode={device_injection_mode}"),
        format!("--cdi-device-name={cdi_device_name}"),
        format!("--cdi-spec-host-path={cdi_spec_host_path}"),
        format!("--infiniband-annotation={infiniband_annotation}"),
        format!("--imex-channel-annotation={imex_channel_annotation}"),
        format!("--imex-channel-host-path={imex_channel_host_path}"),
        format!("--compute-domain-staging={compute_domain_staging}"),
    ];
    if let Some(gate) = staging_gate {
        args.push(format!("--agent-staged-url={}", gate.url));
        args.push(format!("--staging-lock-path={}", gate.lock_path));
    }
    args
}

fn states(gates: &FeatureGates) -> String {
    let states = gates
        .states()
        .map(|(name, state)| format!("{name}={state}"));
    states.collect::<Vec<_>>().join(",")
}
