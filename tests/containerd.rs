//! Real containerd, with the plugin connected: one pod asks for the mock GPUs, the other does not.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::SHIMS;
use containerd_tests::{ContainerSpec, Containerd, DeviceNode, Node, Plugin, PodSpec};
use mock_node::staging::Overlay;
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn an_annotated_container_sees_the_mock_driver(#[values(V1_7, V2)] containerd: Containerd) {
    let overlay = Overlay {
        gpus: 1,
        control_nodes: false,
        ..Overlay::default()
    };
    let node = Node::start_with(containerd, overlay).await;
    let _plugin = Plugin::start(&node, &["--node-name=node-1"]).await;
    let pod = node.run_annotated_pod().await;
    let inside = pod.start(ContainerSpec::new("main")).await.inside().await;

    let tree = node.overlay();
    let tree = tree.display();
    let mounted = |path: &str| {
        let mount = inside.mount(path).expect("it is mounted");
        (mount.root.as_str(), mount.options[..3].join(","))
    };
    assert_eq!(
        mounted("/opt/nvml-mock"),
        (format!("{tree}").as_str(), "ro,nosuid,nodev".to_owned())
    );
    assert_eq!(
        mounted("/opt/nvml-mock/driver/config"),
        (
            format!("{tree}/driver/config").as_str(),
            "rw,nosuid,nodev".to_owned()
        )
    );

    assert_eq!(
        inside.env,
        [
            ("PATH", "/opt/nvml-mock/driver/usr/bin:/usr/bin:/bin"),
            ("HOSTNAME", node.sh("hostname").await.trim()),
            ("FROM_IMAGE", "yes"),
            ("LD_LIBRARY_PATH", "/opt/nvml-mock/driver/usr/lib64"),
            ("LD_PRELOAD", SHIMS),
            (
                "MOCK_NVML_CONFIG",
                "/opt/nvml-mock/driver/config/config.yaml"
            ),
            ("MOCK_PCI_ROOT", "/opt/nvml-mock"),
            (
                "GFD_MACHINE_TYPE_FILE",
                "/opt/nvml-mock/driver/config/machine-type"
            ),
            ("NODE_NAME", "node-1"),
            (
                "MOCK_TOPOLOGY_CONFIG",
                "/opt/nvml-mock/topology/topology.yaml"
            ),
            ("MOCK_IB", "off"),
            // runc's.
            ("HOME", "/root"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
    );

    let device = |name: &str, major, minor| DeviceNode {
        path: format!("/dev/{name}"),
        major,
        minor,
        mode: 0o666,
        uid: 0,
        gid: 0,
    };
    assert_eq!(
        inside.devices_under("/dev/nvidia"),
        [
            &device("nvidia-openable", 10, 229),
            &device("nvidia0", 195, 0),
        ]
    );
}

#[rstest]
#[tokio::test]
async fn a_container_without_the_annotation_is_untouched(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let pod = node.run_pod(PodSpec::new("plain")).await;
    let spec = ContainerSpec::new("main");
    let before = pod.start(spec.clone()).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let after = pod.start(spec.again()).await;

    assert_eq!(after.inside().await, before.inside().await);
    assert_eq!(after.oci_spec().await, before.oci_spec().await);
}
