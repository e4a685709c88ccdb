//! The plugin and the model are of one mind.

use std::collections::BTreeSet;

use nri_model::{Answer, CommandLine, Missing, Warning, World};
use nri_plugin::decide::{Outcome, Refusal};
use nri_proto::api::{Container, PodSandbox};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::cases;
use crate::arbitrary::{command_line, container, pod, world};
use crate::plugin::{self, Answered};

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn the_plugin_answers_as_the_model_does(
        command_line in command_line(),
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        agree(&command_line, &world, pod.as_ref(), container.as_ref())?;
    }

    #[test]
    fn the_plugin_answers_as_the_model_does_by_default(
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        agree(&CommandLine::default(), &world, pod.as_ref(), container.as_ref())?;
    }

    #[test]
    fn the_plugin_answers_as_the_model_does_in_cdi_mode(
        mut command_line in command_line(),
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        command_line.arguments.insert(0, CDI_MODE.into());
        agree(&command_line, &world, pod.as_ref(), container.as_ref())?;
    }

    #[test]
    fn the_plugin_answers_as_the_model_does_about_a_compute_domain_daemon(
        mut command_line in command_line(),
        world in world(),
        pod in pod(),
        container in container(),
        domain in "[a-z]{1,3}",
        staging in prop::bool::weighted(0.8),
    ) {
        let (pod, container) = daemon(pod, container, domain);
        command_line.arguments.insert(0, format!("--compute-domain-staging={staging}"));
        agree(&command_line, &world, Some(&pod), Some(&container))?;
    }
}

const CDI_MODE: &str = "--device-injection-mode=cdi";

/// The DRA driver's own.
fn daemon(
    pod: Option<PodSandbox>,
    container: Option<Container>,
    domain: String,
) -> (PodSandbox, Container) {
    let mut pod = pod.unwrap_or_default();
    pod.labels
        .insert("resource.nvidia.com/computeDomain".into(), domain);
    let container = container.unwrap_or_default();
    (
        pod,
        Container {
            name: "compute-domain-daemon".into(),
            ..container
        },
    )
}

fn agree(
    command_line: &CommandLine,
    world: &World,
    pod: Option<&PodSandbox>,
    container: Option<&Container>,
) -> Result<(), TestCaseError> {
    let mut modelled = nri_model::answer(command_line, world, pod, container);
    let config = match plugin::start(command_line) {
        Ok(config) => config,
        Err(error) => {
            prop_assert!(
                matches!(modelled.answer, Answer::StartupError(_)),
                "{error}, not {modelled:?}"
            );
            prop_assert!(is_one_clear_line(&error), "{error:?}");
            return Ok(());
        }
    };
    let answered = plugin::answer(&config, world, &plugin::request(pod, container));
    prop_assert!(
        same(&answered, &modelled.answer),
        "{answered:?}, not {modelled:?}"
    );
    // The shell logs a closed gate, with the reason that only it knows.
    modelled.warnings.remove(&Warning::GateClosed);
    prop_assert_eq!(plugin::warnings_as_modelled(&answered), modelled.warnings);
    Ok(())
}

fn same(answered: &Answered, modelled: &Answer) -> bool {
    match (&answered.outcome, modelled) {
        (Outcome::Adjusted(_), Answer::Adjusted(adjustment)) => {
            answered.adjustment.as_ref() == Some(adjustment)
        }
        (Outcome::Unmodified(reason), Answer::LeftAlone(name)) => {
            answered.adjustment.is_none() && name.is_none_or(|name| name == reason.as_str())
        }
        (Outcome::Gated { .. }, Answer::Gated) => answered.adjustment.is_none(),
        (Outcome::Refused(refusal), Answer::Refused(missing)) => {
            missing.contains(&named(refusal)) && answered.adjustment.is_none()
        }
        _ => false,
    }
}

fn named(refusal: &Refusal) -> Missing {
    match refusal {
        Refusal::GateClosed { .. } => Missing::OpenGate,
        Refusal::BinaryNotStaged { .. } => Missing::Binary,
        Refusal::TopologyNotStaged { .. } => Missing::Topology,
        Refusal::NodeNameUnknown => Missing::NodeName,
    }
}

/// Errors are for people.
fn is_one_clear_line(error: &str) -> bool {
    !error.is_empty() && !error.contains(['\n', '\r']) && !error.ends_with('.')
}

#[test]
#[ignore = "takes a quarter of a minute: ci/goldens has it"]
fn every_kind_of_answer_and_warning_is_reached() {
    let mut runner = TestRunner::deterministic();
    let input = (command_line(), world(), pod(), container());
    let mut reached = BTreeSet::new();
    for case in 0..8000 {
        let (mut command_line, world, mut pod, mut container) =
            input.new_tree(&mut runner).unwrap().current();
        // The properties above take turns in the same way.
        if case % 2 == 0 {
            let (its_pod, its_container) = daemon(pod, container, "domain".into());
            (pod, container) = (Some(its_pod), Some(its_container));
            command_line
                .arguments
                .insert(0, "--compute-domain-staging".into());
        } else if case % 4 == 1 {
            command_line.arguments.insert(0, CDI_MODE.into());
        }
        let outcome = nri_model::answer(&command_line, &world, pod.as_ref(), container.as_ref());
        match outcome.answer {
            Answer::StartupError(_) => reached.extend(["startup error".to_owned()]),
            Answer::Adjusted(_) => reached.extend(["adjusted".to_owned()]),
            Answer::LeftAlone(reason) => {
                reached.extend([reason.unwrap_or("left alone").to_owned()])
            }
            Answer::Gated => reached.extend(["gated".to_owned()]),
            Answer::Refused(missing) => {
                reached.extend(missing.iter().map(|missing| format!("{missing:?}")))
            }
        }
        reached.extend(outcome.warnings.iter().map(|warning| match warning {
            Warning::RepeatedKey(_) => "RepeatedKey".to_owned(),
            other => format!("{other:?}"),
        }));
    }
    let all = [
        "adjusted",
        "gated",
        "left alone",
        "startup error",
        "already adjusted",
        "excluded namespace",
        "no GPU allocation and no opt-in annotation",
        "opt-out annotation",
        "overlay already mounted",
        "overlay not staged",
        "overlay would propagate to the node",
        "volume below the overlay",
        "Binary",
        "NodeName",
        "OpenGate",
        "Topology",
        "ComputeDomainStagingOff",
        "GateClosed",
        "CdiNodesHeldBack",
        "ConfigNotWritable",
        "NoCdiSpec",
        "NoGpuNodes",
        "NoHca",
        "NoImexChannels",
        "NotACharacterDevice",
        "OverlayNotStaged",
        "OverlayWouldPropagate",
        "OwnDev",
        "RealDriver",
        "Repeated",
        "RepeatedKey",
        "VolumeBelowOverlay",
    ];
    let missed: Vec<&str> = all
        .into_iter()
        .filter(|kind| !reached.contains(*kind))
        .collect();
    assert_eq!(missed, Vec::<&str>::new());
    assert_eq!(reached.len(), all.len(), "{reached:?}");
}
