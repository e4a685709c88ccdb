//! Changing a container's OCI spec as the combined adjustment says.
//!
//! In containerd's order, which is CRI-O's too, and shows where two fields touch the same thing: a plugin's device replaces a
//! CDI device node of that path, a plugin's `linux.rdt` what its `rdt_class` left. Nothing is half
//! applied: an error fails the container.

mod cdi;
mod devices;
mod env;
mod isolation;
mod mounts;
mod of_container;
mod resources;
mod scheduling;
mod seccomp;

use nri_proto::api;

use crate::collect::{Combined, removal};
use crate::create_error::Reason;
use crate::host::Host;
use crate::oci::{Hook, Spec};
use crate::oci_runtime;
use crate::profile::Profile;

/// The spec after the adjustment.
///
/// # Errors
/// What only the spec and the host can tell: an unresolvable CDI name, a mount that cannot propagate, an
/// unknown namespace or block I/O class; and what the OCI runtime refuses, where that is called in CreateContainer.
pub fn apply(
    profile: &Profile,
    mut spec: Spec,
    adjustment: &Combined,
    host: &Host,
) -> Result<Spec, Reason> {
    let honoured = profile.adjust;
    for (key, value) in &adjustment.annotations {
        match removal(key) {
            Some(key) => drop(spec.annotations.remove(key)),
            None => drop(spec.annotations.insert(key.clone(), value.clone())),
        }
    }
    env::apply(&mut spec.process.env, &adjustment.env);
    if !adjustment.args.is_empty() {
        spec.process.args.clone_from(&adjustment.args);
    }
    hooks(&mut spec, &adjustment.hooks);
    cdi::inject(profile.cdi, &mut spec, &adjustment.cdi_devices, host)?;
    devices::apply(&mut spec.linux, &adjustment.devices);
    if !adjustment.cgroups_path.is_empty() {
        spec.linux.cgroups_path.clone_from(&adjustment.cgroups_path);
    }
    if adjustment.oom_score_adj.is_some() {
        spec.process.oom_score_adj = adjustment.oom_score_adj;
    }
    if let Some(priority) = adjustment.io_priority {
        spec.process.io_priority = scheduling::io_priority(priority);
    }
    if let Some(scheduler) = &adjustment.scheduler {
        spec.process.scheduler = scheduling::scheduler(scheduler);
    }
    if let Some(policy) = &adjustment.seccomp_policy {
        spec.linux.seccomp = Some(seccomp::profile(honoured.seccomp_errno, policy)?);
    }
    isolation::namespaces(
        honoured.time_namespace,
        &mut spec.linux.namespaces,
        &adjustment.namespaces,
    )?;
    isolation::sysctl(&mut spec.linux, &adjustment.sysctl);
    isolation::net_devices(&mut spec.linux, &adjustment.net_devices);
    if let Some(policy) = &adjustment.memory_policy {
        spec.linux.memory_policy = Some(scheduling::memory_policy(policy));
    }
    resources::apply(honoured, &mut spec.linux, adjustment)?;
    mounts::apply(&mut spec, &adjustment.mounts, host)?;
    resources::rlimits(&mut spec.process, &adjustment.rlimits);
    if profile.oci_runtime_in_create
        && let Err(error) = oci_runtime::create(&spec, host)
    {
        let spec = Box::new(spec);
        return Err(Reason::OciRuntime { error, spec });
    }
    Ok(spec)
}

fn hooks(spec: &mut Spec, theirs: &api::Hooks) {
    for (name, hooks) in [
        ("prestart", &theirs.prestart),
        ("createRuntime", &theirs.create_runtime),
        ("createContainer", &theirs.create_container),
        ("startContainer", &theirs.start_container),
        ("poststart", &theirs.poststart),
        ("poststop", &theirs.poststop),
    ] {
        for hook in hooks {
            let timeout = hook.timeout.map(|seconds| seconds.value);
            add_hook(
                spec,
                name,
                oci_hook(&hook.path, &hook.args, &hook.env, timeout),
            );
        }
    }
}

fn add_hook(spec: &mut Spec, name: &str, hook: Hook) {
    spec.hooks.entry(name.to_owned()).or_default().push(hook);
}

fn oci_hook(path: &str, args: &[String], env: &[String], timeout: Option<i64>) -> Hook {
    let mut hook = Hook::default();
    hook.set_path(path.into());
    hook.set_args(unless_empty(args));
    hook.set_env(unless_empty(env));
    hook.set_timeout(timeout);
    hook
}

/// The crate's types tell an empty list from none; containerd writes neither.
fn unless_empty(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}
