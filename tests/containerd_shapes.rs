//! Real containerd: containers of every shape that a pod can give them.

use Containerd::{V1_7, V2};
use containerd_tests::cri::v1::{Mount, MountPropagation};
use containerd_tests::surfaces::{DEVICES, OVERLAY, SHIMS, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, Pod, PodSpec};
use rstest::rstest;

/// A node, the plugin beside it, and a pod that asks for GPUs.
async fn annotated(containerd: Containerd) -> (Node, Plugin, Pod) {
    let node = Node::start(containerd).await;
    let plugin = Plugin::start(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    (node, plugin, pod)
}

#[rstest]
#[tokio::test]
async fn every_container_of_a_pod_is_injected(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let first = pod.start(ContainerSpec::new("first")).await;
    let second = pod.start(ContainerSpec::new("second")).await;

    let seen = Surfaces::of(&first.inside().await);
    assert_eq!(seen, Surfaces::every_gpu());
    assert_eq!(Surfaces::of(&second.inside().await), seen);
}

#[rstest]
#[tokio::test]
async fn an_init_container_can_use_the_mock_driver(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let init = pod
        .start(ContainerSpec::new("init").script("nvidia-smi"))
        .await;
    assert_eq!(init.exit_code().await, 0);
    let main = pod.start(ContainerSpec::new("main")).await;

    assert_eq!(Surfaces::of(&main.inside().await), Surfaces::every_gpu());
}

#[rstest]
#[tokio::test]
async fn an_images_search_paths_are_kept(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let container = pod.start(ContainerSpec::new("main").image("paths")).await;
    let inside = container.inside().await;

    assert_eq!(
        inside.env("PATH"),
        Some("/opt/nvml-mock/driver/usr/bin:/opt/image/bin:/bin")
    );
    assert_eq!(
        inside.env("LD_LIBRARY_PATH"),
        Some("/opt/nvml-mock/driver/usr/lib64:/opt/image/lib")
    );
    let preloaded = format!("/opt/image/shim.so:{SHIMS}");
    assert_eq!(inside.env("LD_PRELOAD"), Some(preloaded.as_str()));
}

#[rstest]
#[tokio::test]
async fn an_images_empty_search_paths_count_as_unset(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let container = pod.start(ContainerSpec::new("main").image("empty")).await;
    let inside = container.inside().await;

    assert_eq!(
        inside.env("LD_LIBRARY_PATH"),
        Some("/opt/nvml-mock/driver/usr/lib64")
    );
    assert_eq!(inside.env("LD_PRELOAD"), Some(SHIMS));
}

/// containerd keeps a key twice when the image and the pod both set it, and then no plugin can
/// override it: the container sees the pod's value, and the plugin says so.
#[rstest]
#[tokio::test]
async fn containerd_13432_a_key_that_stands_twice_keeps_the_pods_value(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let (_node, plugin, pod) = annotated(containerd).await;
    let spec = ContainerSpec::new("main")
        .image("paths")
        .env("LD_LIBRARY_PATH", "/opt/pod/lib");
    let container = pod.start(spec).await;
    let inside = container.inside().await;

    assert_eq!(inside.env("LD_LIBRARY_PATH"), Some("/opt/pod/lib"));
    let warning = plugin.log().wait_for("LD_LIBRARY_PATH").await;
    assert!(warning.contains("\"level\":\"warn\""), "{warning}");
}

#[rstest]
#[tokio::test]
async fn a_read_only_root_is_no_obstacle(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let container = pod.start(ContainerSpec::new("main").read_only_root()).await;
    container.sh("! touch /x && nvidia-smi").await;

    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
}

#[rstest]
#[tokio::test]
async fn another_user_than_root_can_open_the_devices(#[values(V1_7, V2)] containerd: Containerd) {
    let (_node, _plugin, pod) = annotated(containerd).await;
    let container = pod.start(ContainerSpec::new("main").user(1000)).await;

    container.sh("test $(id -u) = 1000").await;
    container
        .sh(&format!("exec 3<>/dev/{}", Node::OPENABLE))
        .await;
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
}

/// In a container that may propagate its mounts to the node, the second of the overlay's mounts would end
/// up on the node's own copy, had the first one a part in that.
#[rstest]
#[tokio::test]
async fn a_bidirectional_volume_leaves_no_copy_of_the_overlay_on_the_node(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let tree = node.overlay().display().to_string();
    let overlays = async || {
        let mounts = node.sh("cut -d ' ' -f 5 /proc/self/mountinfo").await;
        let mounts = mounts.lines().map(str::to_owned);
        mounts
            .filter(|mount| mount.starts_with(&tree) || mount.contains(OVERLAY))
            .collect::<Vec<_>>()
    };
    let before = overlays().await;
    node.sh("mkdir /run/volume").await;
    let pod = PodSpec::new("storage")
        .annotation(DEVICES, "true")
        .privileged();
    let pod = node.run_pod(pod).await;
    let volume = Mount {
        container_path: "/volume".to_owned(),
        host_path: "/run/volume".to_owned(),
        readonly: false,
        propagation: MountPropagation::Bidirectional.into(),
    };
    let container = pod
        .start(ContainerSpec::new("main").privileged().mount(volume))
        .await;

    container
        .sh("mkdir /volume/x && mount -t tmpfs x /volume/x")
        .await;
    node.sh("grep -q ' /run/volume/x ' /proc/self/mountinfo")
        .await;
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
    assert_eq!(overlays().await, before, "while the container runs");
    pod.remove().await;
    assert_eq!(overlays().await, before, "after it is gone");
}
