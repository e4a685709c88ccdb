//! The plugin in a container of its own, with the rights and the memory that it is deployed with.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, Surfaces};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PluginContainer, deployed_memory};
use fake_runtime::FakeRuntime;
use fake_runtime::api::{Container, Mount, PodSandbox};
use mock_node::staging::{Devices, Overlay};
use rstest::rstest;
use tempfile::TempDir;

/// The directory of the socket is mounted, so that the socket of the next containerd is seen too.
#[rstest]
#[tokio::test]
async fn containerd_nri_129_the_image_injects_and_outlives_containerd(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let _plugin = PluginContainer::start(&node).await;
    let pod = node.run_annotated_pod().await;
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

/// Pods and containers of a node fuller than Kubernetes supports, as a restarted plugin is told of them: some 5 MiB.
fn full_node() -> (Vec<PodSandbox>, Vec<Container>) {
    let pods = (0..600).map(|pod| PodSandbox {
        id: format!("{pod:064x}"),
        name: format!("pod-{pod}"),
        namespace: "default".to_owned(),
        annotations: [(DEVICES.to_owned(), "true".to_owned())].into(),
        ..Default::default()
    });
    let containers = (0..6000).map(|container| Container {
        id: format!("{container:064x}"),
        pod_sandbox_id: format!("{:064x}", container % 600),
        name: format!("container-{container}"),
        env: (0..16)
            .map(|key| format!("KEY_{key}={container:016}"))
            .collect(),
        mounts: (0..4)
            .map(|mount| Mount {
                destination: format!("/volume/{mount}"),
                source: format!("/var/lib/volumes/{container}/{mount}"),
                r#type: "bind".to_owned(),
                options: vec!["rbind".to_owned(), "rw".to_owned()],
            })
            .collect(),
        ..Default::default()
    });
    (pods.collect(), containers.collect())
}

/// The plugin, registered with a fake runtime on a node with this inventory, and the directory that both need.
async fn registered_beside(
    pods: Vec<PodSandbox>,
    containers: Vec<Container>,
) -> (FakeRuntime, PluginContainer, TempDir) {
    let directory = tempfile::tempdir_in("/tmp").expect("a temporary directory");
    let overlay = directory.path().join("overlay");
    let staged = Overlay::default().stage(&overlay, Devices::Nodes);
    staged.expect("a mock driver is staged");
    let sockets = directory.path().join("nri");
    std::fs::create_dir(&sockets).expect("a directory for the socket");
    let fake = FakeRuntime::builder()
        .socket(sockets.join("nri.sock"))
        .inventory(pods, containers)
        .start()
        .await
        .expect("a fake runtime starts");
    let plugin = PluginContainer::launch_at(fake.socket_path(), &overlay).await;
    let registered = fake.registrations(1).await;
    registered.expect("the plugin is registered");
    (fake, plugin, directory)
}

/// What `deploy/` requests is what it has after a while, and the limit is twice the most that it ever had.
#[tokio::test]
async fn the_memory_that_it_is_deployed_with_is_enough_for_a_full_node() {
    let (pods, containers) = full_node();
    let pod = pods[0].clone();
    let (fake, plugin, _directory) = registered_beside(pods, containers).await;
    let registered = plugin.memory();
    for number in 0..10_000 {
        let container = Container {
            id: format!("{number:064x}"),
            name: "main".to_owned(),
            ..Default::default()
        };
        let created = fake.create_container(pod.clone(), container).await.unwrap();
        assert!(!created.adjustment.mounts.is_empty(), "container {number}");
    }
    let worked = plugin.memory();
    println!(
        "resident and most, in KiB: registered {registered:?}, after 10,000 containers {worked:?}"
    );
    assert!(worked.0 <= deployed_memory("requests:"));
    assert!(2 * worked.1 <= deployed_memory("limits:"));
}

/// A pod's annotations may have 256 KiB, and what a runtime sends in one message 4 MiB.
#[tokio::test]
async fn no_pod_can_make_the_plugin_exceed_the_memory_that_it_is_deployed_with() {
    let pods: Vec<PodSandbox> = (0..500)
        .map(|pod| PodSandbox {
            id: format!("{pod:064x}"),
            name: format!("pod-{pod}"),
            namespace: "default".to_owned(),
            annotations: [
                (DEVICES.to_owned(), "true".to_owned()),
                ("long".to_owned(), "x".repeat(256 << 10)),
            ]
            .into(),
            ..Default::default()
        })
        .collect();
    let mut pod = pods[0].clone();
    pod.annotations.remove("long");
    let (fake, plugin, _directory) = registered_beside(pods, Vec::new()).await;
    let registered = plugin.memory();

    let container = |name: &str, env: usize| Container {
        id: format!("id-of-{name}"),
        name: name.to_owned(),
        env: vec!["A".to_owned(); env],
        ..Default::default()
    };
    for container in [container("many", 1_160_000), container("few", 1)] {
        let created = fake.create_container(pod.clone(), container).await;
        assert!(!created.unwrap().adjustment.mounts.is_empty());
    }
    let worked = plugin.memory();
    println!(
        "resident and most, in KiB: registered {registered:?}, after a large request {worked:?}"
    );
    assert_eq!(fake.registration_count(), 1);
    assert!(worked.1 <= deployed_memory("limits:"));
}
