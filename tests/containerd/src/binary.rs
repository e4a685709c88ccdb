//! The programs that are tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The plugin: the program that `NRI_PLUGIN` names, otherwise the workspace's own, built now.
///
/// # Panics
///
/// When it does not build.
#[must_use]
pub fn nri_plugin() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("NRI_PLUGIN") {
        Some(path) => PathBuf::from(path),
        None => build("nri-plugin"),
    })
}

/// The tool, built now.
///
/// # Panics
///
/// When it does not build.
#[must_use]
pub fn fake_runtime() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build("fake-runtime"))
}

/// `mock-node`, built where the tests were.
///
/// # Panics
///
/// When it does not build.
#[must_use]
pub fn mock_node() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| build("mock-node"))
}

fn build(name: &str) -> PathBuf {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--package", name, "--bin", name])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .expect("cargo runs");
    assert!(status.success(), "{name} does not build");
    // A test's own program is PROFILE/deps/NAME-HASH, and this is PROFILE/NAME.
    let test = std::env::current_exe().expect("a running test has a path");
    let profile = test
        .ancestors()
        .nth(2)
        .expect("tests run from PROFILE/deps");
    profile.join(name)
}
