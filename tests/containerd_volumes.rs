//! Real containerd: pods whose volumes would carry the overlay away, and updates that move it.

use std::collections::BTreeSet;
use std::path::Path;

use Containerd::{V1_7, V2};
use containerd_tests::cri::v1;
use containerd_tests::surfaces::{DEVICES, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec};
use rstest::rstest;

/// Every path below a directory.
fn paths(directory: &Path) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("a directory is listed") {
        let entry = entry.expect("a directory is listed");
        paths.insert(entry.path().display().to_string());
        if entry.file_type().expect("a type").is_dir() {
            paths.append(&mut self::paths(&entry.path()));
        }
    }
    paths
}

/// The kubelet empties such a volume when its pod is gone, and with it what was mounted there.
#[rstest]
#[tokio::test]
async fn a_pod_whose_volume_propagates_to_the_node_starts_untouched_and_leaves_the_tree_whole(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let tree = paths(&node.overlay());
    let volume = "/run/volume";
    node.sh(&format!("mkdir {volume}")).await;
    let _plugin = Plugin::start_alone(&node, &[]).await;
    let pod = PodSpec::new("privileged")
        .privileged()
        .annotation(DEVICES, "true");
    let pod = node.run_pod(pod).await;
    let spec = ContainerSpec::new("main").privileged().mount(v1::Mount {
        container_path: "/opt".to_owned(),
        host_path: volume.to_owned(),
        readonly: false,
        propagation: v1::MountPropagation::Bidirectional.into(),
    });
    let container = pod.start(spec).await;
    container.sh("test ! -e /opt/nvml-mock").await;
    let mounts = node.sh("cat /proc/self/mounts").await;
    assert!(!mounts.contains(&format!("{volume}/")), "{mounts}");

    pod.remove().await;
    node.sh(&format!("rm -r {volume}")).await;
    assert_eq!(paths(&node.overlay()), tree);
}

/// Both would change PATH, and containerd refuses a container over which two plugins differ.
#[rstest]
#[tokio::test]
async fn a_rolling_update_that_moves_the_overlay_in_the_container_refuses_nobody(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let old = Plugin::start_alone(&node, &[]).await;
    let moved = ["--overlay-mount-path=/opt/moved"];
    let _new = Plugin::start_alone(&node, &moved).await;
    let pod = PodSpec::new("annotated").annotation(DEVICES, "true");
    let pod = node.run_pod(pod).await;
    let with_both = pod.start(ContainerSpec::new("with-both")).await;
    assert_eq!(
        Surfaces::of(&with_both.inside().await),
        Surfaces::every_gpu()
    );

    old.kill().await;
    let after = pod.start(ContainerSpec::new("after")).await;
    after.sh("test -d /opt/moved/driver").await;
}
