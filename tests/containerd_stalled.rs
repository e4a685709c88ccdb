//! Real containerd: a plugin that does not answer in time.

use std::time::{Duration, Instant};

use Containerd::{V1_7, V2};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, Pod};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use rstest::rstest;

/// What containerd gives a plugin for one container.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

async fn annotated(containerd: Containerd) -> (Node, Plugin, Pod) {
    let node = Node::start(containerd).await;
    let plugin = Plugin::start_alone(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    (node, plugin, pod)
}

/// As on a node that has no processor time left for it.
#[rstest]
#[tokio::test]
async fn containerd_nri_114_a_stopped_plugin_is_done_without_and_comes_back(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let (node, plugin, pod) = annotated(containerd).await;
    assert_eq!(plugin.probe("/readyz").await.status, 200);
    let process = Pid::from_raw(plugin.pid());
    kill(process, Signal::SIGSTOP).unwrap();
    waitid(Id::Pid(process), WaitPidFlag::WSTOPPED).unwrap();
    let start = Instant::now();
    let missed = pod.start(ContainerSpec::new("missed")).await;
    assert!(start.elapsed() >= REQUEST_TIMEOUT, "containerd waited");
    assert!(!missed.is_injected().await, "and gave up");

    let since = node.log().from_now();
    kill(process, Signal::SIGCONT).unwrap();
    Plugin::asked_by(&since).await;
    assert_eq!(plugin.probe("/readyz").await.status, 200);
    let after = pod.start(ContainerSpec::new("after")).await;
    assert!(after.is_injected().await);
    assert_eq!(
        plugin.metric("nri_plugin_connection_losses_total").await,
        1.0
    );
    assert_eq!(plugin.metric("nri_plugin_bypassed_containers").await, 1.0);
}
