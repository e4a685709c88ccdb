//! What is known of nri-plugin: how it is started, and how its log is read.

use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use fake_runtime::process::PluginCommand;
use fake_runtime::product::{Decision, Product};
use nri_plugin::config::Config;
use nri_plugin::flags::{Flags, Invocation};
use serde::Deserialize as _;
use serde_json::Value;

use crate::staging::{Devices, Overlay};

/// All of it, for [`fake_runtime`]: the plugin says why, and takes no port.
pub const KNOWN: Product = Product {
    envs: &[("MOKKA_LOG_LEVEL", "debug"), ("MOKKA_NRI_HEALTH_ADDR", "")],
    decision: Some(decision),
    cdi_dirs: Some(cdi_dirs),
    stage: Some(stage),
};

/// The plugin's binary at `path`, with none of the variables that it reads.
pub fn command(path: impl AsRef<Path>) -> PluginCommand {
    PluginCommand::new(path).without_envs(is_for_plugin)
}

fn is_for_plugin(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("MOKKA_") || name == "NODE_NAME"
}

/// The decision in a line of the plugin's log in JSON, if it is about one. Decisions are logged at level debug.
#[must_use]
pub fn decision(line: &str) -> Option<Decision> {
    serde_json::from_str(line).ok()
}

/// Where the CDI spec of the plugin's devices is, by its command line.
fn cdi_dirs(args: &[OsString]) -> Vec<PathBuf> {
    let invocation = Flags::parse(args.to_vec(), |name| std::env::var_os(name));
    let Ok(Invocation::Run(flags)) = invocation else {
        return Vec::new();
    };
    let config = Config::resolve(*flags);
    config.iter().filter_map(cdi_dir).collect()
}

/// The directory of the CDI spec of the plugin's devices.
#[must_use]
pub fn cdi_dir(config: &Config) -> Option<PathBuf> {
    let spec: &Path = config.cdi_spec_host_path.as_ref();
    spec.parent().map(Path::to_owned)
}

/// Stages a scenario's overlay.
fn stage(overlay: &Value, dir: &Path) -> Result<Vec<String>, Box<dyn Error + Send + Sync>> {
    Overlay::deserialize(overlay)?.stage(dir, Devices::as_permitted())?;
    Ok(Overlay::plugin_flags(dir).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_told_from_other_lines() {
        let line = r#"{"level":"debug","time":"2026-01-01T00:00:00.000Z","msg":"container decided","namespace":"default","pod":"p","container":"c","decision":"unmodified","reason":"opt-out annotation","mounts":0}"#;
        let logged = decision(line).unwrap();
        assert_eq!(
            (&*logged.decision, &*logged.reason),
            ("unmodified", "opt-out annotation")
        );
        for other in [
            r#"{"level":"info","msg":"registered","namespace":"default"}"#,
            "not JSON",
        ] {
            assert_eq!(decision(other), None);
        }
    }
}
