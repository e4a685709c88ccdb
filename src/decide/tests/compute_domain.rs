//! The ComputeDomain daemon.

use super::*;

const ON: [&str; 2] = ["--compute-domain-staging", "--node-name=n1"];
const BINARY: &str = "/var/lib/nvml-mock/driver/usr/bin/nvidia-imex.real";

fn domain(label: &str, annotations: &[&str]) -> Pod {
    let label = (
        "resource.nvidia.com/computeDomain".to_owned(),
        label.to_owned(),
    );
    Pod {
        labels: [label].into(),
        ..pod(annotations)
    }
}

fn daemon(env: &[&str]) -> Container {
    Container {
        name: "compute-domain-daemon".to_owned(),
        ..container(env)
    }
}

fn staged() -> Tree {
    Tree::staged().with_topology().file(BINARY)
}

fn refusal(args: &[&str], tree: &Tree) -> String {
    match decide(args, tree, &domain("uid", &[]), &daemon(&[])).outcome {
        Outcome::Refused(refusal) => refusal.to_string(),
        other => panic!("no refusal but {other:?}"),
    }
}

#[test]
fn the_daemon_gets_its_two_files_and_its_variable_and_nothing_of_the_overlay() {
    let options = &["rbind", "ro", "nosuid", "nodev"];
    let pod = domain("uid", &[DEVICES, INFINIBAND, IMEX]);
    let decision = decide(&ON, &staged(), &pod, &daemon(&["PATH=/bin"]));
    assert_eq!(decision.warnings, []);
    assert_eq!(
        adjustment(decision),
        Adjustment {
            mounts: vec![
                BindMount {
                    source: BINARY.to_owned(),
                    destination: "/usr/bin/nvidia-imex.real".to_owned(),
                    options,
                },
                BindMount {
                    source: "/var/lib/nvml-mock/topology/topology.yaml".to_owned(),
                    destination: "/opt/nvml-mock/topology/topology.yaml".to_owned(),
                    options,
                },
            ],
            env: vec![(
                "MOCK_TOPOLOGY_CONFIG".to_owned(),
                "/opt/nvml-mock/topology/topology.yaml".to_owned()
            )],
            ..Adjustment::default()
        }
    );
}

#[test]
fn a_variable_that_the_daemon_sets_itself_is_kept() {
    let decision = decide(
        &ON,
        &staged(),
        &domain("uid", &[]),
        &daemon(&["MOCK_TOPOLOGY_CONFIG="]),
    );
    assert_eq!(adjustment(decision).env, []);
}

#[test]
fn only_that_container_of_a_labelled_pod_is_the_daemon() {
    for (pod, container) in [
        (domain("", &[]), daemon(&[])),
        (pod(&[]), daemon(&[])),
        (domain("uid", &[]), container(&[])),
    ] {
        let decision = decide(&ON, &staged(), &pod, &container);
        assert_eq!(
            decision.outcome,
            Outcome::Unmodified(Reason::NothingSelected)
        );
    }
}

#[test]
fn without_staging_the_daemon_is_left_alone_with_a_warning() {
    let decision = decide(
        &["--node-name=n1"],
        &staged(),
        &domain("uid", &[DEVICES]),
        &daemon(&[]),
    );
    assert_eq!(
        decision.outcome,
        Outcome::Unmodified(Reason::ComputeDomainStagingOff)
    );
    assert_eq!(decision.warnings, [Warning::ComputeDomainStagingOff]);
}

#[test]
fn a_daemon_in_an_excluded_namespace_or_an_opted_out_pod_is_left_alone() {
    let opted_out = Pod {
        labels: domain("uid", &[]).labels,
        ..annotated([(OPT_OUT, "false")])
    };
    let excluded = Pod {
        namespace: "kube-system".to_owned(),
        ..domain("uid", &[])
    };
    for (pod, reason) in [
        (opted_out, Reason::OptOut),
        (excluded, Reason::ExcludedNamespace),
    ] {
        let decision = decide(&ON, &staged(), &pod, &daemon(&[]));
        assert_eq!(decision.outcome, Outcome::Unmodified(reason));
    }
}

#[test]
fn a_daemon_that_has_its_binary_is_left_alone() {
    let first = adjustment(decide(&ON, &staged(), &domain("uid", &[]), &daemon(&[])));
    let second = applied(daemon(&[]), &first);
    for args in [&ON[..], &[]] {
        let decision = decide(args, &staged(), &domain("uid", &[]), &second);
        assert_eq!(
            decision.outcome,
            Outcome::Unmodified(Reason::AlreadyAdjusted)
        );
        assert_eq!(decision.warnings, []);
    }
}

#[test]
fn a_daemon_that_cannot_run_yet_is_refused_and_told_why() {
    let with_topology = Tree::staged().with_topology();
    let no_binary =
        format!("compute domain daemon is not staged yet: {BINARY} is not a regular file");
    for tree in [
        with_topology.clone(),
        with_topology.clone().directory(BINARY),
        with_topology.dangling(BINARY),
    ] {
        assert_eq!(refusal(&ON, &tree), no_binary);
    }
    assert_eq!(
        refusal(&ON, &Tree::staged().file(BINARY)),
        "compute domain daemon is not staged yet: \
         there is no topology document at /var/lib/nvml-mock/topology/topology.yaml"
    );
    assert_eq!(
        refusal(&ON[..1], &staged()),
        "compute domain daemon cannot be placed in the topology: set --node-name or NODE_NAME"
    );
}

#[test]
fn a_closed_gate_refuses_the_daemon_so_that_the_kubelet_tries_again() {
    let config = config(&ON);
    let selection = select(&config, Some(&domain("uid", &[])), Some(&daemon(&[])));
    let decision = selection.behind_closed_gate("node agent is staging".to_owned());
    let Outcome::Refused(refusal) = decision.outcome else {
        panic!("no refusal but {:?}", decision.outcome);
    };
    assert_eq!(
        refusal.to_string(),
        "compute domain daemon is not staged yet: node agent is staging"
    );
}
