//! Real containerd: what each way of asking for a surface brings.

use std::fs;

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, EVERY_GPU, IMEX_CHANNELS, INFINIBAND, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, DeviceNode, Node, Plugin, PodSpec};
use mock_node::staging::Overlay;
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn a_device_node_can_be_opened(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;

    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
    container
        .sh(&format!("exec 3<>/dev/{}", Node::OPENABLE))
        .await;
}

#[rstest]
#[tokio::test]
async fn the_configuration_is_writable_and_the_driver_is_not(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;

    container.sh("nvidia-smi").await;
    container
        .sh("echo cleared >/opt/nvml-mock/driver/config/config.yaml")
        .await;
    container
        .sh("! touch /opt/nvml-mock/driver/usr/bin/x")
        .await;
    let config = node.overlay().join("driver/config/config.yaml");
    assert_eq!(fs::read_to_string(config).unwrap(), "cleared\n");
}

#[rstest]
#[tokio::test]
async fn containerd_12650_cdi_mode_brings_every_gpu_once(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &["--device-injection-mode=cdi"]).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;

    // containerd 1.7 drops CDI devices from an adjustment, so there the nodes themselves are handed
    // out; the CDI spec does not know the one that this test stages.
    let by_cdi: Vec<&str> = EVERY_GPU
        .into_iter()
        .filter(|name| containerd == V1_7 || *name != Node::OPENABLE)
        .collect();
    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::gpus(&by_cdi)
    );
    let spec = container.oci_spec().await;
    assert_eq!(
        spec["linux"]["devices"].as_array().unwrap().len(),
        by_cdi.len(),
        "each device stands once in the spec"
    );
}

#[rstest]
#[tokio::test]
async fn moby_47633_cdi_mode_without_a_spec_brings_the_nodes(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let overlay = Overlay {
        cdi: false,
        ..Overlay::default()
    };
    let node = Node::start_with(containerd, overlay).await;
    let _plugin = Plugin::start(&node, &["--device-injection-mode=cdi"]).await;
    let pod = node.run_annotated_pod().await;
    let container = pod.start(ContainerSpec::new("main")).await;

    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::every_gpu()
    );
}

/// A device plugin without CDI hands out the node itself.
#[rstest]
#[tokio::test]
async fn an_allocation_as_device_is_never_widened(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = PodSpec::new("allocated").annotation(DEVICES, "true");
    let pod = node.run_pod(pod).await;
    let gpu = node.overlay().join("driver/dev/nvidia1");
    let gpu = gpu.to_str().unwrap();
    let spec = ContainerSpec::new("main").device(gpu, "/dev/nvidia1", "rw");
    let container = pod.start(spec).await;

    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::gpus(&["nvidia1"])
    );
}

/// A device plugin or DRA driver with CDI hands out a name, which containerd resolves.
#[rstest]
#[tokio::test]
async fn an_allocation_by_cdi_is_never_widened(
    #[values(V1_7, V2)] containerd: Containerd,
    #[values("k8s.device-plugin.nvidia.com/gpu", "k8s.gpu.nvidia.com/claim")] kind: &str,
) {
    let node = Node::start(containerd).await;
    node.stage_allocation(kind);
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = PodSpec::new("allocated").annotation(DEVICES, "true");
    let pod = node.run_pod(pod).await;
    let spec = ContainerSpec::new("main").cdi_device(&format!("{kind}=first"));
    let container = pod.start(spec).await;

    assert_eq!(
        Surfaces::of(&container.inside().await),
        Surfaces::gpus(&["nvidia0"])
    );
}

/// A privileged container has every device of the node, but nobody allocated one to it.
#[rstest]
#[tokio::test]
async fn a_privileged_container_holds_no_allocation(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    node.sh("mknod -m 666 /dev/nvidia0 c 195 0").await;
    let pod = node.run_pod(PodSpec::new("privileged").privileged()).await;
    let spec = ContainerSpec::new("main").privileged();
    let before = pod.start(spec.clone()).await.inside().await;
    let _plugin = Plugin::start(&node, &[]).await;
    let after = pod.start(spec.again()).await.inside().await;

    assert_eq!(after.devices_under("/dev/nvidia0").len(), 1);
    assert_eq!(after, before);
}

#[rstest]
#[tokio::test]
async fn infiniband_brings_the_overlay_and_no_gpu(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let pod = PodSpec::new("infiniband").annotation(INFINIBAND, "true");
    let pod = node.run_pod(pod).await;
    let container = pod.start(ContainerSpec::new("main")).await;
    let inside = container.inside().await;

    assert_eq!(Surfaces::of(&inside), Surfaces::infiniband());
    assert_eq!(inside.env("MOCK_IB_ROOT"), Some("/opt/nvml-mock/ib"));
    assert_eq!(
        inside.env("MOCK_IB_PING_SOCKET"),
        Some("/opt/nvml-mock/run/mock-ib.sock")
    );
}

#[rstest]
#[tokio::test]
async fn imex_channels_bring_nothing_else(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let pod = PodSpec::new("imex").annotation(IMEX_CHANNELS, "true");
    let pod = node.run_pod(pod).await;
    let spec = ContainerSpec::new("main");
    let before = pod.start(spec.clone()).await.inside().await;
    let _plugin = Plugin::start(&node, &[]).await;
    let after = pod.start(spec.again()).await.inside().await;

    let channel = |minor| DeviceNode {
        path: format!("/dev/nvidia-caps-imex-channels/channel{minor}"),
        major: 234,
        minor,
        mode: 0o666,
        uid: 0,
        gid: 0,
    };
    let mut expected = before;
    expected.devices.extend([channel(0), channel(1)]);
    expected.devices.sort();
    assert_eq!(after, expected);
}
