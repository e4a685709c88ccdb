//! Explanations name the rule that decides, and what it found.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use fake_runtime::host::Host;
use mock_node::explain::{Explanation, explain};
use mock_node::staging::{Devices, Overlay};
use nri_plugin::config::Config;
use nri_plugin::flags::{Flags, Invocation};
use nri_proto::api::{Container, CreateContainerRequest, Mount, PodSandbox};

const DEVICES: &str = "nvml-mock.nvidia.com/devices";

fn config(flags: &[&str]) -> Config {
    let flags = flags.iter().map(Into::into);
    let Invocation::Run(flags) = Flags::parse(flags, |_| None).unwrap() else {
        panic!("no help was asked for")
    };
    Config::resolve(*flags).unwrap()
}

fn request(annotations: &[(&str, &str)]) -> CreateContainerRequest {
    let annotation = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    CreateContainerRequest {
        pod: Some(PodSandbox {
            namespace: "default".into(),
            name: "pod".into(),
            annotations: annotations.iter().map(annotation).collect(),
            ..Default::default()
        }),
        container: Some(Container {
            name: "main".into(),
            ..Default::default()
        }),
    }
}

fn explained(flags: &[&str], request: &CreateContainerRequest) -> Explanation {
    let staged = nri_plugin::host::Host::new();
    explain(
        &config(flags),
        request,
        &staged,
        Default::default(),
        &Host::default(),
    )
    .unwrap()
}

/// The rule that decides and what it found; the rules end with it.
fn decider(explanation: &Explanation) -> (&'static str, &str) {
    let last = explanation.rules.last().unwrap();
    assert!(last.decides, "{explanation:?}");
    assert_eq!(
        explanation.rules.iter().filter(|rule| rule.decides).count(),
        1
    );
    (last.rule, &last.found)
}

#[test]
fn the_rule_that_leaves_a_container_alone_is_the_last_one() {
    let mut daemon = request(&[]);
    let labels = [("resource.nvidia.com/computeDomain".into(), "d".into())];
    daemon.pod.as_mut().unwrap().labels = labels.into();
    daemon.container.as_mut().unwrap().name = "compute-domain-daemon".into();
    let mut mounted = request(&[(DEVICES, "true")]);
    let overlay = Mount {
        destination: "/opt/nvml-mock/".into(),
        ..Default::default()
    };
    mounted.container.as_mut().unwrap().mounts.push(overlay);

    let mut shared = request(&[(DEVICES, "true")]);
    let volume = Mount {
        destination: "/opt".to_owned(),
        options: vec!["rshared".to_owned()],
        ..Mount::default()
    };
    shared.container.as_mut().unwrap().mounts.push(volume);

    for (request, flags, rule, found) in [
        (
            request(&[("nvml-mock.nvidia.com/inject", "FALSE"), (DEVICES, "true")]),
            &[][..],
            "opt-out annotation",
            r#"nvml-mock.nvidia.com/inject is "FALSE""#,
        ),
        (
            request(&[(DEVICES, "true")]),
            &["--excluded-namespaces=default"],
            "namespace",
            r#""default" is excluded"#,
        ),
        (daemon, &[], "ComputeDomain daemon", "yes"),
        (request(&[(DEVICES, "yes")]), &[], "selected", "nothing"),
        (
            mounted,
            &[],
            "overlay mount",
            "something is mounted already at /opt/nvml-mock, or the overlay elsewhere",
        ),
        (
            shared,
            &[],
            "shared volume",
            "/opt would carry the overlay onto the node",
        ),
    ] {
        let explanation = explained(flags, &request);
        assert_eq!(decider(&explanation), (rule, found));
        assert_eq!(explanation.changes, Ok(vec![]));
    }
}

#[test]
fn an_injected_container_is_told_what_changes() {
    let overlay = tempfile::tempdir().unwrap();
    Overlay {
        gpus: 1,
        control_nodes: false,
        ..Overlay::default()
    }
    .stage(overlay.path(), Devices::Links)
    .unwrap();
    let flag = format!("--overlay-host-path={}", overlay.path().display());
    let explanation = explained(&[&flag], &request(&[(DEVICES, "true")]));
    assert!(explanation.rules.iter().all(|rule| !rule.decides));
    assert_eq!(explanation.reason, "devices annotation");
    let changes: Vec<_> = explanation
        .changes
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert!(
        changes
            .iter()
            .any(|it| it.starts_with("+ device /dev/nvidia0 (c 1:3, ")),
        "{changes:?}"
    );
}

#[test]
fn a_refused_container_is_told_containerds_answer() {
    let mut daemon = request(&[]);
    let labels = [("resource.nvidia.com/computeDomain".into(), "d".into())];
    daemon.pod.as_mut().unwrap().labels = labels.into();
    daemon.container.as_mut().unwrap().name = "compute-domain-daemon".into();
    let flags = ["--compute-domain-staging", "--overlay-host-path=/nowhere"];
    let refused = explained(&flags, &daemon).changes.unwrap_err().to_string();
    assert!(
        refused.starts_with(
            "failed to create containerd container: failed to get NRI adjustment for container: \
             rpc error: code = Unknown desc = compute domain daemon is not staged yet"
        ),
        "{refused}"
    );
}
