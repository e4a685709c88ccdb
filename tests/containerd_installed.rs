//! Real containerd: the plugin as `nri-plugin install` leaves it on a node, started by containerd itself.

use std::fs;

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::Surfaces;
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, binary};
use rstest::rstest;

/// Its file in containerd's plugin directory.
const PROGRAM: &str = "10-nvml-mock";

/// On the node; outside it is beside the sockets.
const LOG: &str = "/node/nri-plugin.log";

/// A node whose containerd starts with the plugin installed, after `spoil` was run on it.
async fn start(containerd: Containerd, flags: &str, spoil: &str) -> Node {
    let node = Node::start(containerd).await;
    node.end_containerd("TERM").await;
    fs::copy(
        binary::nri_plugin(),
        node.plugin_directory().with_file_name("nri-plugin"),
    )
    .expect("the program is copied");
    let tree = node.overlay();
    // The directory is the host's by a link; a node has one of its own.
    node.sh(&format!(
        "rm /opt/nri/plugins; \
         /node/nri-plugin install --plugin-name=nvml-mock --overlay-host-path={} --log-file={LOG} {flags}; {spoil}",
        tree.display()
    ))
    .await;
    node.start_containerd().await;
    node
}

#[rstest]
#[tokio::test]
async fn the_first_container_after_each_start_of_containerd_is_injected(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = start(containerd, "", "").await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );

    for signal in ["TERM", "KILL"] {
        node.end_containerd(signal).await;
        node.start_containerd().await;
        let first = pod.start(ContainerSpec::new(signal)).await;
        assert!(first.is_injected().await, "after {signal}");
    }
}

#[rstest]
#[case::no_mapping(
    "",
    "echo nonsense >>/etc/nri/conf.d/10-nvml-mock.conf",
    "simple key expected"
)]
#[case::a_bad_value(
    "",
    "echo 'device-injection-mode: none' >>/etc/nri/conf.d/10-nvml-mock.conf",
    "invalid --device-injection-mode"
)]
#[case::a_busy_port(
    "--health-addr=127.0.0.1:8080",
    "httpd -p 127.0.0.1:8080",
    "cannot serve the probes"
)]
#[case::no_tree(
    "--overlay-host-path=/dev/null/tree --feature-gates=RequireStagedOverlay=true",
    "",
    "overlay not staged"
)]
#[tokio::test]
async fn containerd_starts_whatever_is_wrong_and_the_log_says_what(
    #[values(V1_7, V2)] containerd: Containerd,
    #[case] flags: &str,
    #[case] spoil: &str,
    #[case] told: &str,
) {
    let node = start(containerd, flags, spoil).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;
    assert!(!container.is_injected().await);
    node.sh(&format!("pidof {PROGRAM}")).await;
    let log = node.sh(&format!("touch {LOG}; cat {LOG}")).await;
    assert!(log.contains(told), "{log}");
}

#[rstest]
#[tokio::test]
async fn the_copy_of_the_daemon_set_takes_over_from_an_installed_one_that_was_killed(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = start(containerd, "", "").await;
    let _copy = Plugin::start_alone(&node, &["--plugin-name=nvml-mock"]).await;
    let pod = node.run_annotated_pod().await;
    let with_both = pod.start(ContainerSpec::new("with-both")).await;
    let expected = with_both.inside().await;
    assert_eq!(Surfaces::of(&expected), Surfaces::every_gpu());

    node.sh(&format!("kill -KILL $(pidof {PROGRAM})")).await;
    let after = pod.start(ContainerSpec::new("after")).await;
    assert_eq!(after.inside().await, expected);
}
