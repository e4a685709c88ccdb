//! What runc refuses when it is to create a container, as far as the spec and the known host tell.
//!
//! CRI-O calls it within CreateContainer. Measured with runc 1.5.1; what else a kernel can refuse is not here.

mod mount;

use oci_spec::runtime::LinuxNamespaceType;

use crate::host::Host;
use crate::oci::{Linux, LinuxNamespace, Spec};

/// What runc logs when it refuses the spec.
///
/// # Errors
/// The first thing that it refuses.
pub fn create(spec: &Spec, host: &Host) -> Result<(), String> {
    let linux = &spec.linux;
    let refused = device_types(linux)
        .or_else(|| sysctls(linux, host))
        .or_else(|| mount::options(&spec.mounts))
        .or_else(|| unified(linux, host))
        .or_else(|| namespaces(linux, host))
        .or_else(|| mount::sources(&spec.mounts, host));
    match refused {
        None => Ok(()),
        Some(refusal) => Err(log(&refusal)),
    }
}

/// A line of its log. No time is the right one here: it is the epoch's.
fn log(refusal: &str) -> String {
    let message = refusal.replace('\\', "\\\\").replace('"', "\\\"");
    format!("time=\"1970-01-01T00:00:00Z\" level=error msg=\"runc create failed: {message}\"\n")
}

/// Devices first, then the rules of the device control group, which know no fifos and no unbuffered devices.
fn device_types(linux: &Linux) -> Option<String> {
    let mut devices = linux.devices.iter();
    if let Some(wrong) = devices.find(|it| !matches!(it.kind.as_str(), "b" | "c" | "u" | "p")) {
        return Some(format!("invalid device type {:?}", wrong.kind));
    }
    let rules = linux.resources.as_ref().map(|it| &it.devices[..]);
    let mut rules = rules.unwrap_or_default().iter();
    let wrong = rules.find(|it| !matches!(it.kind.as_str(), "" | "a" | "b" | "c"))?;
    Some(format!("invalid cgroup device type {:?}", wrong.kind))
}

fn sysctls(linux: &Linux, host: &Host) -> Option<String> {
    let mut keys = linux.sysctl.keys();
    let key = keys.find(|key| key.starts_with("net."))?;
    let mut namespaces = linux.namespaces.iter();
    match namespaces.find(|it| it.typ() == LinuxNamespaceType::Network) {
        None => Some(format!(
            "sysctl {key:?} not allowed in host network namespace"
        )),
        Some(network) => Some(format!(
            "invalid netns path: stat {}: no such file or directory",
            missing(network, host)?
        )),
    }
}

fn unified(linux: &Linux, host: &Host) -> Option<String> {
    let unified = linux
        .resources
        .as_ref()
        .is_some_and(|it| !it.unified.is_empty());
    (unified && host.cgroup_v1)
        .then(|| "invalid configuration: cannot use unified on cgroup v1".to_owned())
}

fn namespaces(linux: &Linux, host: &Host) -> Option<String> {
    let mut namespaces = linux.namespaces.iter();
    let path = namespaces.find_map(|it| missing(it, host))?;
    Some(format!(
        "unable to create new parent process: namespace path: lstat {path}: no such file or directory"
    ))
}

/// The path of a namespace that is to be joined and is not there.
fn missing(namespace: &LinuxNamespace, host: &Host) -> Option<String> {
    let path = namespace.path().as_deref()?.to_str()?;
    host.lacks(path).then(|| path.to_owned())
}
