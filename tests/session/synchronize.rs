//! What runs already when the plugin registers.

use fake_runtime::runtime::{FakeRuntime, Received};
use nri_proto::api::{Container, ContainerState, Mount, SynchronizeRequest};

use crate::plugin::{Plugin, annotated_pod, container};
use crate::raw_runtime::RawRuntime;

fn running(name: &str) -> Container {
    Container {
        state: ContainerState::ContainerRunning.into(),
        ..container(name)
    }
}

fn injected(name: &str) -> Container {
    let overlay = Mount {
        destination: "/opt/nvml-mock".into(),
        ..Default::default()
    };
    Container {
        mounts: vec![overlay],
        ..running(name)
    }
}

// containerd/nri#85, #142, containerd/containerd#11217, kubernetes-sigs/dranet#88: containers that are created
// while the plugin is away miss the injection, and nobody says so.
#[tokio::test]
async fn nri_85_containers_that_came_up_without_the_overlay_are_counted_and_named() {
    let containers = vec![
        running("missed"),
        injected("injected"),
        running("missed-too"),
    ];
    let runtime = FakeRuntime::builder().inventory(vec![annotated_pod()], containers);
    let runtime = runtime.start().await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    let line = plugin
        .logged("running containers came up without the overlay while the plugin was away")
        .await;
    assert_eq!(line["level"], "warn");
    assert_eq!(line["count"], 2);
    assert_eq!(line["first"], "default/pod/missed, default/pod/missed-too");
    assert_eq!(
        plugin
            .metric("nri_plugin_bypassed_containers")
            .await
            .as_deref(),
        Some("2")
    );
}

#[tokio::test]
async fn the_count_is_that_of_the_last_registration() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    for missed in [2, 1, 0] {
        let containers = [running("a"), running("b")].into_iter().take(missed);
        let running = SynchronizeRequest {
            pods: vec![annotated_pod()],
            containers: containers.collect(),
            more: false,
        };
        let mut connection = runtime.accept().await;
        connection.register_beside(&running).await;
        assert_eq!(
            plugin
                .metric("nri_plugin_bypassed_containers")
                .await
                .as_deref(),
            Some(missed.to_string().as_str())
        );
    }
}

// containerd/nri#102, containerd/containerd#13901: a list beyond 4 MiB is split, and has to be taken in time.
#[tokio::test]
async fn nri_102_a_list_of_several_parts_is_taken() {
    let env = vec![format!("FILL={}", "x".repeat(2000))];
    let containers = (0..6000).map(|number| Container {
        env: env.clone(),
        ..if number % 2 == 0 {
            running("missed")
        } else {
            injected("injected")
        }
    });
    let runtime = FakeRuntime::builder().inventory(vec![annotated_pod()], containers.collect());
    let runtime = runtime.start().await.unwrap();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let parts = runtime.received_one("a synchronized plugin", |received| match received {
        Received::Synchronized { parts, .. } => Some(*parts),
        _ => None,
    });
    assert!(parts.await.unwrap() > 1);
    assert_eq!(
        plugin
            .metric("nri_plugin_bypassed_containers")
            .await
            .as_deref(),
        Some("3000")
    );
}
