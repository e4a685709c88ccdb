//! A pod's whole life on real containerd: what a plugin is told of it is what the fake runtime tells.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::Path;

use Containerd::{V1_7, V2};
use containerd_tests::cri::v1::LinuxContainerResources;
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec, binary};
use rstest::rstest;
use tokio::process::Command;

fn resources(shares: i64, memory: i64) -> LinuxContainerResources {
    LinuxContainerResources {
        cpu_shares: shares,
        memory_limit_in_bytes: memory,
        ..Default::default()
    }
}

/// Records what containerd tells of a pod that is created, updated, crashed, restarted, stopped and removed.
async fn record(node: &Node, file: &Path) {
    let since = node.log().from_now();
    let mut recorder = Command::new(binary::fake_runtime())
        .args(["record", "--raw", "--socket"])
        .arg(node.nri_socket())
        .arg("--output")
        .arg(file)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    Plugin::asked_by(&since).await;
    let pod = PodSpec::new("life").annotation("tells", "nothing");
    let pod = node.run_pod(pod).await;
    let until_told = "until [ -e /tmp/end ]; do usleep 10000; done; exit 3";
    let spec = ContainerSpec::new("main").script(until_told);
    let spec = spec.resources(resources(512, 64 << 20));
    let first = pod.start(spec.clone()).await;
    first.update(resources(1024, 128 << 20)).await;
    first.run("touch /tmp/end").await;
    assert_eq!(first.exit_code().await, 3);
    let second = pod.start(spec.again()).await;
    first.remove().await;
    second.stop().await;
    second.remove().await;
    pod.remove().await;
    recorder.kill().await.unwrap();
}

#[rstest]
#[tokio::test]
async fn a_pods_life_is_told_as_the_fake_runtime_tells_it(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("life.jsonl");
    record(&node, &file).await;
    if let Some(kept) = std::env::var_os("KEEP_RECORDING") {
        std::fs::copy(
            &file,
            Path::new(&kept).join(format!("{containerd:?}.jsonl")),
        )
        .unwrap();
    }
    unreachable!()
}
