//! The Docker engine that the nodes run in.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// The label of every container started here; its value is the process that it belongs to.
pub(crate) const OWNER_LABEL: &str = "nri-plugin.test-process";

/// How the directories of this process's nodes begin, directly under `/tmp`: a socket's path has at most 107 bytes.
pub(crate) fn directory_prefix() -> String {
    format!("{DIRECTORY}{}-", std::process::id())
}

const DIRECTORY: &str = "nri-node-";

/// Removes the containers and directories of earlier runs that were killed before they could. Once in a process.
///
/// # Panics
///
/// When no engine answers, with what it said.
pub(crate) fn sweep() {
    static SWEPT: Once = Once::new();
    SWEPT.call_once(|| {
        let format = format!("{{{{.ID}}}} {{{{.Label \"{OWNER_LABEL}\"}}}}");
        let filter = format!("label={OWNER_LABEL}");
        let containers = docker(&["ps", "--all", "--filter", &filter, "--format", &format]);
        for container in containers.lines() {
            let (id, owner) = container.split_once(' ').unwrap_or((container, ""));
            if !is_running(owner) {
                docker(&["rm", "--force", "--volumes", id]);
            }
        }
        for entry in fs::read_dir("/tmp").into_iter().flatten().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let owner = name.strip_prefix(DIRECTORY);
            let owner = owner.and_then(|rest| Some(rest.split_once('-')?.0));
            if owner.is_some_and(|owner| !is_running(owner)) {
                // Another run may be at it too.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    });
}

fn is_running(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// Makes sure of an image, which would otherwise be looked for in a registry that has none of ours.
///
/// # Panics
///
/// When the engine does not have it, with the command that makes it.
pub(crate) fn require(image: &str, made_by: &str) {
    let inspect = Command::new("docker")
        .args(["image", "inspect", image])
        .output();
    assert!(
        inspect.is_ok_and(|inspect| inspect.status.success()),
        "there is no image {image}: run {made_by} first"
    );
}

pub(crate) fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output();
    let output = output.expect("cannot run `docker`: these tests need a Docker engine");
    assert!(
        output.status.success(),
        "these tests need a Docker engine; `docker {}` says: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
