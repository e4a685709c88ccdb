//! Real containerd: pods whose volumes would carry the overlay away, and updates that move it.

use Containerd::{V1_7, V2};
use containerd_tests::cri::v1;
use containerd_tests::surfaces::{DEVICES, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec};
use rstest::rstest;

/// The kubelet empties such a volume when its pod is gone, and with it what was mounted there.
#[rstest]
#[tokio::test]
async fn a_pod_whose_volume_propagates_to_the_node_starts_untouched_and_leaves_the_tree_whole(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let list = format!("find {} | sort", node.overlay().display());
    let tree = node.sh(&list).await;
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
    assert_eq!(node.sh(&list).await, tree);
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
    let pod = node.run_annotated_pod().await;
    let with_both = pod.start(ContainerSpec::new("with-both")).await;
    assert_eq!(
        Surfaces::of(&with_both.inside().await),
        Surfaces::every_gpu()
    );

    old.kill().await;
    let after = pod.start(ContainerSpec::new("after")).await;
    after.sh("test -d /opt/moved/driver").await;
}
