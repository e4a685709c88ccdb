//! Real containerd: neither it nor the plugin stays for ever.

use std::fs;

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, IMEX_CHANNELS, INFINIBAND, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Load, Node, Plugin, PodSpec, binary};
use rstest::rstest;

/// How the plugin counts the containers that it gave something.
const ADJUSTED: &str = "nri_plugin_containers_total{decision=\"adjusted\"";

/// How many of the node's containers have the overlay, and how many have not.
async fn injected_and_bypassed(node: &Node) -> (usize, usize) {
    let containers = node.containers().await;
    let mut injected = 0;
    for container in &containers {
        injected += usize::from(container.is_injected().await);
    }
    (injected, containers.len() - injected)
}

#[rstest]
#[tokio::test]
async fn containerd_nri_129_a_restart_of_containerd_under_load_bypasses_only_what_the_metrics_tell(
    #[values(V1_7, V2)] containerd: Containerd,
    #[values("TERM", "KILL")] signal: &str,
) {
    let node = Node::start(containerd).await;
    let plugin = Plugin::start_alone(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    let load = Load::start(&pod);
    load.created(5).await;
    let before = node.log().from_now();
    node.end_containerd(signal).await;
    node.start_containerd().await;
    Plugin::asked_by(&before).await;
    load.created(5).await;
    load.stop().await;

    let (injected, bypassed) = injected_and_bypassed(&node).await;
    println!("{containerd:?} {signal}: {injected} injected, {bypassed} bypassed");
    assert!(injected >= 10, "the load ran before and after");
    assert_eq!(plugin.metric("nri_plugin_registrations_total").await, 2.0);
    let told = plugin.metric("nri_plugin_bypassed_containers").await;
    let untold = bypassed as f64 - told;
    // containerd 1.7 neither asks a plugin about the container that it is creating while the plugin
    // registers, nor lists that one. Later versions let registrations wait for it.
    let in_creation = f64::from(u8::from(containerd == V1_7));
    assert!(
        (0.0..=in_creation).contains(&untold),
        "{told} told of {bypassed} bypassed"
    );
    // containerd may have ended between the plugin's answer and the container.
    let lost = plugin.metric(ADJUSTED).await - injected as f64;
    assert!(
        (0.0..=1.0).contains(&lost),
        "{lost} adjusted but not created"
    );
}

#[rstest]
#[tokio::test]
async fn containerd_nri_85_a_restarted_plugin_tells_whom_it_missed(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let plugin = Plugin::start(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    pod.start(ContainerSpec::new("before")).await;
    plugin.kill().await;
    pod.start(ContainerSpec::new("missed-1")).await;
    pod.start(ContainerSpec::new("missed-2")).await;
    let plugin = Plugin::start(&node, &[]).await;
    pod.start(ContainerSpec::new("after")).await;

    assert_eq!(injected_and_bypassed(&node).await, (2, 2));
    assert_eq!(plugin.metric("nri_plugin_bypassed_containers").await, 2.0);
    assert_eq!(plugin.metric(ADJUSTED).await, 1.0);
    let warning = plugin.log().wait_for("default/annotated/missed-1").await;
    assert!(warning.contains("default/annotated/missed-2"), "{warning}");
}

#[rstest]
#[tokio::test]
async fn containerd_nri_62_without_containerd_the_plugin_says_so_and_ends(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    node.end_containerd("TERM").await;
    let mut early = Plugin::launch(&node, &[]);
    assert_eq!(early.exit_code().await, Some(1));
    let error = early.log().wait_for("nri-plugin: ").await;
    assert!(error.contains("nri.sock"), "{error}");

    node.start_containerd().await;
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
}

/// containerd starts what lies in its plugin directory, and tells it which socket it has inherited.
#[rstest]
#[tokio::test]
async fn containerd_can_start_the_plugin_itself(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let tree = node.overlay();
    // Such a plugin is given no flags: the mock driver must be where it looks by default.
    node.sh(&format!("ln -s {} /var/lib/nvml-mock", tree.display()))
        .await;
    node.end_containerd("TERM").await;

    let plugin = node.plugin_directory().join("10-nri-plugin");
    fs::copy(binary::nri_plugin(), plugin).unwrap();
    node.start_containerd().await;

    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );

    node.sh("pidof 10-nri-plugin").await;
    node.end_containerd("KILL").await;
    node.sh("for try in $(seq 500); do pidof 10-nri-plugin || exit 0; usleep 10000; done; exit 1")
        .await;
}

/// A rolling update runs the new plugin before it ends the old one.
#[rstest]
#[tokio::test]
async fn two_plugins_at_once_inject_once_and_refuse_nobody(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let flags = ["--compute-domain-staging", "--node-name=node-1"];
    let old = Plugin::start(&node, &flags).await;
    let pod = PodSpec::new("everything")
        .annotation(DEVICES, "true")
        .annotation(INFINIBAND, "true")
        .annotation(IMEX_CHANNELS, "true")
        .label("resource.nvidia.com/computeDomain", "domain-1");
    let pod = node.run_pod(pod).await;
    let alone = pod.start(ContainerSpec::new("main")).await;
    let daemon = ContainerSpec::new("compute-domain-daemon");
    let daemon_alone = pod.start(daemon.clone()).await;
    let _new = Plugin::start(&node, &flags).await;
    let with_both = pod.start(ContainerSpec::new("main").again()).await;
    let daemon_with_both = pod.start(daemon.again()).await;
    old.kill().await;
    let after = pod.start(ContainerSpec::new("main").again().again()).await;

    let expected = alone.inside().await;
    let everything = Surfaces {
        imex_channels: ["channel0", "channel1"].map(str::to_owned).to_vec(),
        infiniband: Some("full".to_owned()),
        ..Surfaces::every_gpu()
    };
    assert_eq!(Surfaces::of(&expected), everything);
    assert_eq!(with_both.inside().await, expected);
    assert_eq!(after.inside().await, expected);
    assert_eq!(daemon_with_both.inside().await, daemon_alone.inside().await);
}
