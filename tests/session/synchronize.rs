//! What runs already when the plugin registers.

use std::fs;

use fake_runtime::create::Answer;
use fake_runtime::runtime::{FakeRuntime, Received};
use nri_proto::api::{
    Container, ContainerState, CreateContainerRequest, CreateContainerResponse, Mount,
    SynchronizeRequest, SynchronizeResponse, plugin,
};
use nri_proto::wire::{MAX_BODY, Message, PLUGIN_CONNECTION, Split, envelope};
use prost::Message as _;
use rustix::process::Pid;

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
async fn containerd_nri_85_containers_that_came_up_without_the_overlay_are_counted_and_named() {
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

/// Containers that miss the overlay, each 2 kB long or little more.
fn missed(count: usize) -> Vec<Container> {
    let long = Container {
        env: vec![format!("FILL={}", "x".repeat(2000))],
        ..running("missed")
    };
    vec![long; count]
}

/// The most memory that the process has had, in kB.
fn peak_memory(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.unwrap().trim().strip_suffix(" kB").unwrap();
    kilobytes.parse().unwrap()
}

// containerd/nri#102: a node's list, too long for one message, never got through.
#[tokio::test]
async fn containerd_nri_102_a_list_of_5_mib_is_taken_in_parts_and_in_the_memory_of_the_manifest() {
    /// What `deploy/` allows, in kB.
    const MEMORY: u64 = 64 << 10;
    let runtime = FakeRuntime::builder().inventory(vec![annotated_pod()], missed(2600));
    let runtime = runtime.start().await.unwrap();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let parts = runtime.received_one("a synchronized plugin", |received| match received {
        Received::Synchronized { parts, .. } => Some(*parts),
        _ => None,
    });
    assert_eq!(parts.await.unwrap(), 2);
    let bypassed = plugin.metric("nri_plugin_bypassed_containers").await;
    assert_eq!(bypassed.as_deref(), Some("2600"));
    let peak = peak_memory(plugin.pid());
    assert!(peak < MEMORY, "{peak} kB");
}

#[tokio::test]
async fn containerd_nri_102_a_list_of_5_mib_in_one_message_costs_no_more_than_itself() {
    let whole = SynchronizeRequest {
        pods: vec![annotated_pod()],
        containers: missed(2600),
        more: false,
    };
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    let request = envelope::Request {
        service: plugin::SERVICE.into(),
        method: plugin::SYNCHRONIZE.into(),
        payload: whole.encode_to_vec().into(),
        ..Default::default()
    };
    let message = Message::request(1001, &request);
    assert!(message.body.len() > 5 << 20);
    let frames = message.frames(PLUGIN_CONNECTION, Split::every(MAX_BODY));
    connection.caller.inject(frames);

    for (more, containers) in [(true, 2), (false, 3)] {
        let part = SynchronizeRequest {
            pods: vec![annotated_pod()],
            containers: missed(containers),
            more,
        };
        let answer = connection.call(plugin::SYNCHRONIZE, &part).await;
        let answer: SynchronizeResponse = answer.unwrap();
        assert_eq!(answer.more, more);
    }
    let bypassed = plugin.metric("nri_plugin_bypassed_containers").await;
    assert_eq!(bypassed.as_deref(), Some("5"));
}

// containerd/containerd#13901, containerd/nri#103, #279: a plugin that was slow over the list stayed connected, deaf.
#[tokio::test]
async fn containerd_13901_a_plugin_is_asked_about_containers_after_a_list_of_six_thousand() {
    let runtime = FakeRuntime::builder().inventory(vec![annotated_pod()], missed(6000));
    let runtime = runtime.start().await.unwrap();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    // Which it is not unless all parts are answered within the 2 s of one request.
    runtime.plugin_registered().await.unwrap();
    let bypassed = plugin.metric("nri_plugin_bypassed_containers").await;
    assert_eq!(bypassed.as_deref(), Some("6000"));
    let created = runtime.create_container(annotated_pod(), container("next"));
    let created = created.await.unwrap();
    assert!(matches!(created.asked[0].answer, Answer::Adjust(_)));
}

// kubernetes-sigs/dranet#232: what the list did not name was forgotten, and its containers went without.
#[tokio::test]
async fn dranet_232_a_pod_that_no_list_named_gets_its_gpus() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    let request = CreateContainerRequest {
        pod: Some(annotated_pod()),
        container: Some(container("c")),
    };
    let nothing = SynchronizeRequest::default();
    for _ in 0..2 {
        let answer = connection.call(plugin::CREATE_CONTAINER, &request).await;
        let answer: CreateContainerResponse = answer.unwrap();
        assert_eq!(answer.adjust.unwrap().mounts.len(), 2);
        connection
            .call::<SynchronizeResponse>(plugin::SYNCHRONIZE, &nothing)
            .await
            .unwrap();
    }
}
