//! Real containerd, with the plugin in a container of its own, as it is deployed.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PluginContainer, PodSpec};
use rstest::rstest;

/// The directory of the socket is mounted, so that the socket of the next containerd is seen too.
#[rstest]
#[tokio::test]
async fn containerd_nri_129_the_image_injects_and_outlives_containerd(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = PluginContainer::start(&node).await;
    let pod = PodSpec::new("annotated").annotation(DEVICES, "true");
    let pod = node.run_pod(pod).await;
    let before = pod.start(ContainerSpec::new("before")).await;
    let since = node.log().from_now();
    node.end_containerd("TERM").await;
    node.start_containerd().await;
    Plugin::asked_by(&since).await;
    let after = pod.start(ContainerSpec::new("after")).await;

    let seen = Surfaces::of(&before.inside().await);
    assert_eq!(seen, Surfaces::every_gpu());
    assert_eq!(Surfaces::of(&after.inside().await), seen);
}
