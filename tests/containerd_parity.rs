//! Real containerd and the fake runtime do the same: for each container, what the plugins are asked, what
//! ours answers, and the OCI spec that comes of it.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, IMEX_CHANNELS, INFINIBAND, OPT_OUT};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec, Recorder};
use fake_runtime::host::Host;
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use fake_runtime::runtime::FakeRuntime;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::Value;

/// What is created on both: a pod and its container.
fn cases(node: &Node) -> Vec<(PodSpec, ContainerSpec)> {
    let gpu = node.overlay().join("driver/dev/nvidia1");
    let gpu = gpu.display().to_string();
    let pod = |name: &str| PodSpec::new(name).annotation(DEVICES, "true");
    let main = || ContainerSpec::new("main");
    vec![
        (PodSpec::new("plain"), main()),
        (pod("annotated"), main()),
        (pod("opted-out").annotation(OPT_OUT, "false"), main()),
        (
            PodSpec::new("allocated"),
            main().device(&gpu, "/dev/nvidia1", "rw"),
        ),
        (
            PodSpec::new("allocated-by-cdi"),
            main().cdi_device("k8s.device-plugin.nvidia.com/gpu=first"),
        ),
        (
            PodSpec::new("infiniband").annotation(INFINIBAND, "true"),
            main(),
        ),
        (
            PodSpec::new("imex").annotation(IMEX_CHANNELS, "true"),
            main(),
        ),
        (
            pod("everything")
                .annotation(INFINIBAND, "true")
                .annotation(IMEX_CHANNELS, "true"),
            main(),
        ),
        (pod("paths"), main().image("paths")),
        (pod("empty"), main().image("empty")),
        (
            pod("twice"),
            main().image("paths").env("LD_LIBRARY_PATH", "/opt/pod/lib"),
        ),
        (pod("user"), main().user(1000).read_only_root()),
        (pod("privileged").privileged(), main().privileged()),
        (
            PodSpec::new("daemon").label("resource.nvidia.com/computeDomain", "domain-1"),
            ContainerSpec::new("compute-domain-daemon"),
        ),
    ]
}

#[rstest]
#[tokio::test]
async fn the_fake_runtime_does_as_containerd(
    #[values(V1_7, V2)] containerd: Containerd,
    #[values("raw", "cdi")] mode: &str,
) {
    let flags = [
        &format!("--device-injection-mode={mode}"),
        "--compute-domain-staging",
        "--node-name=node-1",
    ];
    let node = Node::start(containerd).await;
    node.stage_allocation("k8s.device-plugin.nvidia.com/gpu");
    let mut containers = Vec::new();
    for (pod, spec) in cases(&node) {
        let pod = node.run_pod(pod).await;
        let untouched = pod.start(spec.clone()).await.oci_spec().await;
        containers.push((pod, spec, untouched));
    }
    let first = Recorder::start("05", &node).await;
    let _plugin = Plugin::start(&node, &flags).await;
    let last = Recorder::start("95", &node).await;

    let fake = FakeRuntime::builder()
        .profile(Profile::find(&node.containerd_version().await).unwrap())
        .host(Host::with_cdi_dirs(&[node.overlay().join("cdi")]))
        .start()
        .await
        .unwrap();
    let _same_plugin = Plugin::launch_at(fake.socket_path(), &node.overlay(), &flags);
    fake.registrations(1).await.unwrap();
    let _last_at_fake = Recorder::connect("95", fake.socket_path()).await;
    fake.registrations(2).await.unwrap();

    for (pod, spec, untouched) in containers {
        let real = pod.create(spec.again()).await.unwrap().oci_spec().await;
        let asked = first.last();
        let untouched: Spec = serde_json::from_value(untouched).unwrap();
        let created = fake
            .create_container_of(asked.pod.clone(), asked.container.clone(), untouched)
            .await
            .unwrap();

        assert_eq!(
            pretty(&serde_json::to_value(&created.after).unwrap()),
            pretty(&real),
            "fake and real OCI spec"
        );
        assert_eq!(
            pretty(&serde_json::to_value(&created.asked[1].request).unwrap()),
            pretty(&serde_json::to_value(last.last()).unwrap()),
            "what the next plugin is asked, by the fake and the real runtime"
        );
    }
}

/// One line a value, so that a difference is shown by the line.
fn pretty(value: &Value) -> String {
    format!("{value:#}")
}
