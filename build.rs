//! Tells the program which commit it is built from.

use std::path::Path;
use std::process::Command;

/// Set it to name the commit where the build sees no repository, as in an image build.
const OVERRIDE: &str = "NRI_PLUGIN_COMMIT";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={OVERRIDE}");
    let commit = std::env::var(OVERRIDE)
        .ok()
        .filter(|commit| !commit.is_empty())
        .or_else(commit)
        .unwrap_or_else(|| "unknown".into());
    println!("cargo::rustc-env={OVERRIDE}={commit}");
}

fn commit() -> Option<String> {
    // A package unpacked inside somebody else's repository is not built from that one's commit.
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    if !prefix.is_empty() {
        return None;
    }
    // HEAD changes with the branch, its log with every commit on it. Cargo runs a build script each
    // time when a named file is missing, hence the look.
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim_end().to_owned())
}
