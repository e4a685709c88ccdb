//! Real containerd, as far as what `ci/kind/run` relies on can be tried without a cluster: the checks that it
//! runs inside its pods, and the device plugin that allocates GPUs to them.

use Containerd::{V1_7, V2};
use containerd_tests::{Container, ContainerSpec, Containerd, Node, Plugin, PodSpec};
use mock_device_plugin::Gpus;
use rstest::rstest;

/// What each pod must see, by its name.
const CHECKS: [(&str, &str); 3] = [
    ("annotated", include_str!("../ci/kind/inside/annotated")),
    ("allocated", include_str!("../ci/kind/inside/allocated")),
    ("untouched", include_str!("../ci/kind/inside/untouched")),
];

/// Which of the checks pass in a container.
async fn passed(container: &Container) -> Vec<&'static str> {
    let mut passed = Vec::new();
    for (name, check) in CHECKS {
        if container.run(check).await.exit_code == 0 {
            passed.push(name);
        }
    }
    passed
}

#[rstest]
#[tokio::test]
async fn k8s_test_infra_435_each_check_passes_in_its_own_pod_alone(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let gpus = Gpus::staged(&node.overlay()).unwrap();
    let gpu = gpus.device(&gpus.names()[0]).unwrap();

    let pod = node.run_annotated_pod().await;
    let annotated = pod.start(ContainerSpec::new("main")).await;
    let pod = node.run_pod(PodSpec::new("others")).await;
    let untouched = pod.start(ContainerSpec::new("untouched")).await;
    let spec = ContainerSpec::new("allocated");
    let spec = spec.device(&gpu.host_path, &gpu.container_path, &gpu.permissions);
    let allocated = pod.start(spec).await;

    assert_eq!(passed(&annotated).await, ["annotated"]);
    assert_eq!(passed(&allocated).await, ["allocated"]);
    assert_eq!(passed(&untouched).await, ["untouched"]);
}
