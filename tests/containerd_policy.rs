//! Real containerd: who is left alone, and when.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, OPT_OUT, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec};
use fake_runtime::tree::{Entry, Kind, make_tree};
use mock_node::staging::{Hold, NodeAgent, Overlay, StagedAnswer, StagingLock};
use rstest::rstest;

/// The label by which a pod of the DRA driver says which ComputeDomain it serves.
const COMPUTE_DOMAIN: &str = "resource.nvidia.com/computeDomain";

#[rstest]
#[tokio::test]
async fn a_pod_can_opt_out(#[values(V1_7, V2)] containerd: Containerd) {
    let pod = PodSpec::new("opted-out")
        .annotation(DEVICES, "true")
        .annotation(OPT_OUT, "false");
    assert_left_alone(containerd, pod, ContainerSpec::new("main"), &[]).await;
}

#[rstest]
#[tokio::test]
async fn a_namespace_can_be_excluded(#[values(V1_7, V2)] containerd: Containerd) {
    let pod = PodSpec::new("system")
        .namespace("kube-system")
        .annotation(DEVICES, "true");
    assert_left_alone(containerd, pod, ContainerSpec::new("main"), &[]).await;
}

#[rstest]
#[tokio::test]
async fn a_compute_domain_daemon_is_left_alone_without_the_flag(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let pod = PodSpec::new("daemon")
        .label(COMPUTE_DOMAIN, "domain-1")
        .annotation(DEVICES, "true");
    let daemon = ContainerSpec::new("compute-domain-daemon");
    assert_left_alone(containerd, pod, daemon, &[]).await;
}

#[rstest]
#[tokio::test]
async fn a_compute_domain_daemon_waits_for_what_it_needs(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let overlay = Overlay {
        topology: None,
        ..Overlay::default()
    };
    let node = Node::start_with(containerd, overlay).await;
    let flags = ["--compute-domain-staging", "--node-name=node-1"];
    let _plugin = Plugin::start(&node, &flags).await;
    let pod = PodSpec::new("daemon").label(COMPUTE_DOMAIN, "domain-1");
    let pod = node.run_pod(pod).await;
    let spec = ContainerSpec::new("compute-domain-daemon");

    let refusal = pod.create(spec.clone()).await.unwrap_err();
    assert!(refusal.message().contains("topology"), "{refusal}");

    let topology = Kind::File {
        content: "nodes: {}\n".to_owned(),
    };
    let topology = Entry::new("topology/topology.yaml", topology);
    make_tree(&node.overlay(), [&topology]).unwrap();
    let container = pod.start(spec.again()).await;
    let inside = container.inside().await;
    for path in [
        "/usr/bin/nvidia-imex.real",
        "/opt/nvml-mock/topology/topology.yaml",
    ] {
        let mount = inside.mount(path).expect(path);
        assert_eq!(mount.options[..3], ["ro", "nosuid", "nodev"], "{path}");
    }
    assert_eq!(
        inside.env("MOCK_TOPOLOGY_CONFIG"),
        Some("/opt/nvml-mock/topology/topology.yaml")
    );
}

#[rstest]
#[tokio::test]
async fn a_closed_staging_gate_leaves_containers_alone_until_it_opens(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let directory = tempfile::tempdir().unwrap();
    let lock = directory.path().join("staging.lock");
    let agent = NodeAgent::start(StagedAnswer::status(503)).await.unwrap();
    drop(StagingLock::hold(&lock, Hold::Free).unwrap());
    let url = format!("--agent-staged-url={}/stagedz", agent.url());
    let path = format!("--staging-lock-path={}", lock.display());
    let plugin = Plugin::start(&node, &[&url, &path]).await;
    let pod = node.run_annotated_pod().await;
    let injected = async |name: &str| {
        let container = pod.start(ContainerSpec::new(name)).await;
        Surfaces::of(&container.inside().await) != Surfaces::none()
    };

    assert!(!injected("unstaged").await);
    let unready = plugin.probe("/readyz").await;
    assert_eq!(unready.status, 503);
    assert!(
        unready.body.contains("not injecting new containers"),
        "{}",
        unready.body
    );

    agent.answer_with(StagedAnswer::status(200));
    // What the gate said last holds for a moment, for whoever probes.
    plugin.probe_until("/readyz", 200).await;
    assert!(injected("staged").await);

    let staging = StagingLock::hold(&lock, Hold::Exclusive).unwrap();
    assert!(!injected("staging").await);
    drop(staging);
    assert!(injected("staged-again").await);
}

/// Runs the container without the plugin and with it, and sees no difference.
async fn assert_left_alone(
    containerd: Containerd,
    pod: PodSpec,
    container: ContainerSpec,
    flags: &[&str],
) {
    let node = Node::start(containerd).await;
    let pod = node.run_pod(pod).await;
    let before = pod.start(container.clone()).await;
    let _plugin = Plugin::start(&node, flags).await;
    let after = pod.start(container.again()).await;

    assert_eq!(after.inside().await, before.inside().await);
    assert_eq!(after.oci_spec().await, before.oci_spec().await);
}
