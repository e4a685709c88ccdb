//! The rules that a container meets on its way to a decision, and what each finds.

use nri_plugin::config::Config;
use nri_plugin::convert::Asked;
use nri_plugin::decide::{Container, Evidence, Pod, Reason, Selection, Surfaces, Warning};
use serde::Serialize;

/// One rule, and what it found in the request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// What the rule looks at.
    pub rule: &'static str,
    /// What it found.
    pub found: String,
    /// Whether that decides, so that no further rule is looked at.
    pub decides: bool,
}

/// The rules in their order, up to the one that made the selection.
pub(super) fn rules(config: &Config, asked: &Asked, selection: &Selection) -> Vec<Rule> {
    let (no_pod, no_container) = (Pod::default(), Container::default());
    let pod = asked.pod.as_ref().unwrap_or(&no_pod);
    let container = asked.container.as_ref().unwrap_or(&no_container);
    let decided =
        |by: Reason| matches!(selection, Selection::LeaveAlone { reason, .. } if *reason == by);
    let is_daemon = matches!(selection, Selection::Daemon)
        || decided(Reason::ComputeDomainStagingOff)
        || decided(Reason::AlreadyAdjusted);
    let opt_in = |rule, key: &str| Rule {
        rule,
        found: annotation(pod, key, "true"),
        decides: false,
    };

    let mut rules = vec![
        Rule {
            rule: "opt-out annotation",
            found: annotation(pod, &config.opt_out_annotation, "false"),
            decides: decided(Reason::OptOut),
        },
        Rule {
            rule: "namespace",
            found: namespace(config, pod),
            decides: decided(Reason::ExcludedNamespace),
        },
        Rule {
            rule: "ComputeDomain daemon",
            found: if is_daemon { "yes" } else { "no" }.to_owned(),
            decides: is_daemon,
        },
        Rule {
            rule: "GPU allocation",
            found: Evidence::of(container).map_or("none".to_owned(), |it| it.to_string()),
            decides: false,
        },
        opt_in("devices annotation", &config.device_annotation),
        opt_in("infiniband annotation", &config.infiniband_annotation),
        opt_in("imex-channels annotation", &config.imex_channel_annotation),
        Rule {
            rule: "selected",
            found: selected(Surfaces::of(config, pod, container)),
            decides: decided(Reason::NothingSelected),
        },
        Rule {
            rule: "overlay mount",
            found: overlay_mount(config, decided(Reason::OverlayAlreadyMounted)),
            decides: decided(Reason::OverlayAlreadyMounted),
        },
        Rule {
            rule: "shared volume",
            found: shared_volume(selection),
            decides: decided(Reason::OverlayWouldPropagate),
        },
    ];
    if config.staging_gate.is_some() {
        let found = "not asked here: taken to be open".to_owned();
        rules.push(Rule {
            rule: "staging gate",
            found,
            decides: false,
        });
    }
    if let Some(last) = rules.iter().position(|rule| rule.decides) {
        rules.truncate(last + 1);
    }
    rules
}

/// What an annotation says, and whether that is the word that counts.
fn annotation(pod: &Pod, key: &str, counts: &str) -> String {
    match pod.annotations.get(key) {
        None => format!("{key} is absent"),
        Some(value) if value.eq_ignore_ascii_case(counts) => format!("{key} is {value:?}"),
        Some(value) => format!("{key} is {value:?}, which is not {counts}"),
    }
}

fn namespace(config: &Config, pod: &Pod) -> String {
    let namespace = &pod.namespace;
    let excluded = config.excluded_namespaces.contains(namespace);
    format!(
        "{namespace:?} is {}",
        if excluded { "excluded" } else { "not excluded" }
    )
}

fn selected(surfaces: Surfaces) -> String {
    let names: Vec<_> = surfaces.names().collect();
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

fn overlay_mount(config: &Config, mounted: bool) -> String {
    let overlay = &config.overlay_mount_path;
    if mounted {
        format!("something is mounted already at {overlay}, or the overlay elsewhere")
    } else {
        format!("nothing is mounted at {overlay}")
    }
}

fn shared_volume(selection: &Selection) -> String {
    match selection {
        Selection::LeaveAlone {
            warning: Some(Warning::OverlayWouldPropagate { path }),
            ..
        } => format!("{path} would carry the overlay onto the node"),
        _ => "none holds the overlay".to_owned(),
    }
}
