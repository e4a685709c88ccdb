//! The whole of an explanation in one line.

use fake_runtime::changes::{Change, Sign};
use fake_runtime::create::{CreateError, Reason as CreateReason};
use nri_plugin::config::Config;
use nri_plugin::decide::{Outcome, Reason};
use nri_proto::api::{CreateContainerRequest, PodSandbox};

use super::Explanation;

/// What a container gets; or why it gets nothing, and the one thing to change.
#[must_use]
pub fn verdict(
    config: &Config,
    request: &CreateContainerRequest,
    explanation: &Explanation,
) -> String {
    let Explanation {
        reason,
        decision,
        changes,
        ..
    } = explanation;
    match (&decision.outcome, changes) {
        (Outcome::Adjusted(_), Ok(changes)) => {
            let but = decision.warnings.first();
            let but = but.map_or(String::new(), |warning| format!("; but {warning}"));
            format!("gets {} ({reason}){but}", counted(changes))
        }
        (Outcome::Adjusted(_), Err(error)) => refused(error),
        (Outcome::Unmodified(why), _) => {
            let mend = mend(config, request, *why);
            format!("gets nothing, {}: {mend}", why.as_str())
        }
        (Outcome::Gated { reason }, _) => {
            format!("gets nothing, the staging gate is closed: {reason}")
        }
        (Outcome::Refused(refusal), _) => format!("is refused until this is mended: {refusal}"),
    }
}

/// `2 devices, 1 mount, 3 variables`.
fn counted(changes: &[Change]) -> String {
    let kinds = [
        ("device", "device", "devices"),
        ("mount", "mount", "mounts"),
        ("env", "variable", "variables"),
    ];
    let counts = kinds.iter().filter_map(|(what, one, many)| {
        let new = |change: &&Change| change.what == *what && change.sign() != Sign::Removed;
        match changes.iter().filter(new).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        }
    });
    let counts: Vec<_> = counts.collect();
    if counts.is_empty() {
        "what it asks for".to_owned()
    } else {
        counts.join(", ")
    }
}

fn refused(error: &CreateError) -> String {
    let told = error.to_string();
    let told = told.lines().next().unwrap_or_default();
    match &error.reason {
        CreateReason::UnresolvableCdi(names) => format!(
            "is refused, as the node has no CDI device {}: write its spec to where the plugin's flags say, or name \
             the directory with --cdi-dir",
            names.join(", ")
        ),
        _ => format!("is refused by the runtime: {told}"),
    }
}

fn mend(config: &Config, request: &CreateContainerRequest, reason: Reason) -> String {
    let nobody = PodSandbox::default();
    let pod = request.pod.as_ref().unwrap_or(&nobody);
    match reason {
        Reason::OptOut => format!("take the annotation {} away", config.opt_out_annotation),
        Reason::ExcludedNamespace => format!(
            "run it in another namespace, or leave {:?} out of --excluded-namespaces",
            pod.namespace
        ),
        Reason::ComputeDomainStagingOff => {
            "start the plugin with --compute-domain-staging".to_owned()
        }
        Reason::NothingSelected => {
            let annotation = &config.device_annotation;
            match pod.annotations.get(annotation) {
                Some(value) => format!("{annotation} is {value:?}, make it \"true\""),
                None => format!("annotate the Pod with {annotation}: \"true\""),
            }
        }
        Reason::OverlayAlreadyMounted => format!(
            "take the mount at {} out of the Pod",
            config.overlay_mount_path
        ),
        Reason::OverlayWouldPropagate => format!(
            "take mountPropagation: Bidirectional off the volume that holds {}",
            config.overlay_mount_path
        ),
        Reason::VolumeBelowOverlay => format!(
            "mount the volume elsewhere than below {}, or stage its place in the overlay",
            config.overlay_mount_path
        ),
        Reason::AlreadyAdjusted => "nothing to do, another copy has given it all".to_owned(),
        Reason::OverlayNotStaged | Reason::NothingToAdd => format!(
            "stage the mock driver at {}, as mock-node stage does",
            config.overlay_host_path
        ),
    }
}
