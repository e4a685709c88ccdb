//! One golden for each flag: what its default, a typical and an odd value are resolved to, and what a container
//! gets by them.

use std::fmt::Write;

use fake_runtime::changes::changes;
use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::profile::Profile;
use insta::assert_snapshot;
use nri_model::tree::{Node, Tree};
use nri_model::{CommandLine, World};
use nri_plugin::config::Config;
use nri_plugin::decide::Outcome;
use nri_proto::api::{Container, CreateContainerRequest, PodSandbox};
use similar::{ChangeTag, TextDiff};

use crate::arbitrary::{FLAGS, Flag, both_ways};
use crate::{goldens, plugin, spec};

#[test]
fn every_flag_resolves_and_answers_as_written_down() {
    let _goldens = goldens::in_directory("flags");
    for flag in FLAGS.iter() {
        assert_snapshot!(flag.name.as_str(), golden(flag));
    }
}

/// What has to be given besides, for a flag to matter.
fn companions(flag: &Flag) -> &'static [&'static str] {
    match &*flag.name {
        "cdi-device-name" | "cdi-spec-host-path" => &["--device-injection-mode=cdi"],
        "topology-host-path" | "topology-mount-path" => {
            &["--node-name=node-1", "--compute-domain-staging"]
        }
        "agent-staged-url" => &["--staging-lock-path=/run/staging.lock"],
        "staging-lock-path" => &["--agent-staged-url=http://10.0.0.1:9000/stagedz"],
        _ => &[],
    }
}

fn golden(flag: &Flag) -> String {
    let companions = companions(flag);
    let start = |mut line: CommandLine| {
        line.arguments
            .splice(0..0, companions.iter().map(|flag| (*flag).to_owned()));
        plugin::start(&line)
    };
    let plain = plugin::start(&CommandLine::default()).unwrap();
    let without = start(CommandLine::default()).unwrap_or_else(|_| plain.clone());
    let mut text = format!("--{} or {}\n", flag.name, flag.variable);
    if !companions.is_empty() {
        writeln!(text, "beside {}", companions.join(" ")).unwrap();
    }
    text += "\nnot given\n";
    for field in fields(&plain).lines().filter(|field| is_of(field, flag)) {
        writeln!(text, "    {field}").unwrap();
    }
    for value in flag.good.iter().chain(flag.bad) {
        writeln!(text, "\n{value:?}").unwrap();
        let [argument, variable] = both_ways(flag, value).map(start);
        assert_eq!(argument, variable, "{} {value:?}", flag.name);
        match argument {
            Ok(config) => {
                text += &differences(&fields(&without), &fields(&config));
                text += &differences(&answers(&without), &answers(&config));
            }
            Err(error) => writeln!(text, "    refused: {error}").unwrap(),
        }
    }
    text
}

/// A configuration with a line for each flag.
fn fields(config: &Config) -> String {
    let line = |arg: String| arg[2..].replacen('=', ": ", 1) + "\n";
    config.command_line().into_iter().map(line).collect()
}

fn is_of(field: &str, flag: &Flag) -> bool {
    field.starts_with(&format!("{}: ", flag.name))
}

/// The lines that went and came.
fn differences(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let changed = diff
        .iter_all_changes()
        .filter(|change| change.tag() != ChangeTag::Equal);
    changed
        .map(|change| format!("    {}{}", change.tag(), change.value()))
        .collect()
}

/// What becomes of three containers: one whose pod asks for everything, one in another namespace, and a
/// ComputeDomain daemon.
fn answers(config: &Config) -> String {
    let surfaces = ["devices", "infiniband", "imex-channels"];
    let annotations =
        surfaces.map(|surface| (format!("nvml-mock.nvidia.com/{surface}"), "true".to_owned()));
    let asking = PodSandbox {
        namespace: "default".into(),
        annotations: annotations.into(),
        ..Default::default()
    };
    let in_system = PodSandbox {
        namespace: "kube-system".into(),
        ..asking.clone()
    };
    let domain = (
        "resource.nvidia.com/computeDomain".to_owned(),
        "domain-1".to_owned(),
    );
    let of_domain = PodSandbox {
        labels: [domain].into(),
        ..Default::default()
    };
    let own_keys = PodSandbox {
        annotations: [("my.io/key".to_owned(), "true".to_owned())].into(),
        ..asking.clone()
    };
    let answers = [
        ("asking", asking, "main"),
        ("kube-system", in_system, "main"),
        ("my.io/key", own_keys, "main"),
        ("daemon", of_domain, "compute-domain-daemon"),
    ]
    .map(|(title, pod, name)| {
        let container = Container {
            name: name.into(),
            ..Default::default()
        };
        answer(config, pod, container)
            .lines()
            .map(|line| format!("{title}: {line}\n"))
            .collect::<String>()
    });
    answers.concat()
}

fn answer(config: &Config, pod: PodSandbox, container: Container) -> String {
    let request = plugin::request(Some(&pod), Some(&container));
    let answered = plugin::answer(config, &world(), &request);
    let Some(adjustment) = answered.adjustment else {
        return left_alone(&answered.outcome);
    };
    // What a CDI name stands for is the node's to know.
    let names: String = adjustment
        .cdi_devices
        .iter()
        .map(|device| format!("+ CDI device {}\n", device.name))
        .collect();
    let adjustment = nri_proto::api::ContainerAdjustment {
        cdi_devices: vec![],
        ..adjustment
    };
    let before = spec::before(Some(&container));
    let request = CreateContainerRequest {
        pod: Some(pod),
        container: Some(container),
    };
    let answers = [(
        "10-nvml-mock".to_owned(),
        Answer::Adjust(Box::new(adjustment)),
    )];
    let profile = Profile::find("2.1").unwrap();
    let outcome = create(profile, request, before.clone(), &answers, &Host::default());
    let (_, after) = outcome.result.expect("an answer that the runtime takes");
    names
        + &changes(&before, &after)
            .iter()
            .map(|change| format!("{change}\n"))
            .collect::<String>()
}

/// What becomes of a container that is not adjusted.
fn left_alone(outcome: &Outcome) -> String {
    let reason = match outcome {
        Outcome::Adjusted(_) => String::new(),
        Outcome::Unmodified(reason) => reason.as_str().to_owned(),
        Outcome::Gated { reason } => reason.clone(),
        Outcome::Refused(refusal) => refusal.to_string(),
    };
    format!("{}: {reason}", outcome.name())
}

/// Something staged wherever one of the flags' values looks; without `driver/config`, so that
/// RequireStagedOverlay matters, and with a real driver for the IMEX channels' major.
fn world() -> World {
    let mut tree = Tree::default();
    for (overlay, minor) in [("/var/lib/nvml-mock", 0), ("/ov", 1)] {
        tree.add(
            &format!("{overlay}/driver/dev/nvidia0"),
            Node::character(195, minor),
        );
        tree.add(
            &format!("{overlay}/driver/dev/nvidia-caps-imex-channels/channel0"),
            Node::character(234, minor),
        );
        tree.add(
            &format!("{overlay}/driver/usr/bin/nvidia-imex.real"),
            Node::File,
        );
        tree.add(&format!("{overlay}/topology/topology.yaml"), Node::File);
    }
    tree.add("/dev2/nvidia7", Node::character(195, 7));
    tree.add("/dev2/channel7", Node::character(235, 7));
    tree.add("/t.yaml", plugin::specification());
    tree.add("/var/run/cdi/nvml-mock-nri.yaml", plugin::specification());
    World {
        tree,
        nvidia_majors: [234].into(),
        ..Default::default()
    }
}
