//! Which plugin is tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program that `NRI_PLUGIN` names; otherwise the workspace's own, built now.
///
/// # Panics
///
/// When it does not build.
pub(crate) fn path() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("NRI_PLUGIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

fn build() -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args([
            "build",
            "--quiet",
            "--package=nri-plugin",
            "--bin=nri-plugin",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the plugin does not build");
    // A test's own program is PROFILE/deps/NAME-HASH, and the plugin is PROFILE/nri-plugin.
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests run from PROFILE/deps");
    profile.join("nri-plugin")
}
