//! Real containerd and the fake runtime do the same. Whatever any test here starts beside a plugin is held against
//! the fake runtime as it is created; these are combinations that no other test has.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, IMEX_CHANNELS, INFINIBAND};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec};
use rstest::rstest;

#[rstest]
#[tokio::test]
async fn the_fake_runtime_does_as_containerd(
    #[values(V1_7, V2)] containerd: Containerd,
    #[values("raw", "cdi")] mode: &str,
) {
    let node = Node::start(containerd).await;
    node.stage_allocation("k8s.device-plugin.nvidia.com/gpu");
    let mode = format!("--device-injection-mode={mode}");
    let flags = [&mode, "--compute-domain-staging", "--node-name=node-1"];
    let _plugin = Plugin::start(&node, &flags).await;
    let gpu = node.overlay().join("driver/dev/nvidia1");
    let gpu = gpu.display().to_string();
    let everything = |name: &str| {
        PodSpec::new(name)
            .annotation(DEVICES, "true")
            .annotation(INFINIBAND, "true")
            .annotation(IMEX_CHANNELS, "true")
    };
    let main = || ContainerSpec::new("main");
    for (pod, container) in [
        (PodSpec::new("plain"), main()),
        (everything("everything"), main()),
        (
            everything("allocated"),
            main().device(&gpu, "/dev/nvidia1", "rw").image("paths"),
        ),
        (
            everything("allocated-by-cdi"),
            main()
                .cdi_device("k8s.device-plugin.nvidia.com/gpu=first")
                .image("empty"),
        ),
        (
            everything("twice"),
            main().image("paths").env("LD_LIBRARY_PATH", "/opt/pod/lib"),
        ),
        (everything("user"), main().user(1000).read_only_root()),
        (everything("privileged").privileged(), main().privileged()),
        (
            everything("daemon").label("resource.nvidia.com/computeDomain", "domain-1"),
            ContainerSpec::new("compute-domain-daemon"),
        ),
    ] {
        let pod = node.run_pod(pod).await;
        pod.create(container).await.unwrap();
    }
}
