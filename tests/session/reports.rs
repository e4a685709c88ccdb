//! What people reported about the connection of plugins like this one, where no other file here has the subject:
//! each test is named after the report, and says what must not happen again. `tests/reports.md` lists all reports.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::profile::Profile;
use fake_runtime::runtime::FakeRuntime;
use fake_runtime::scripted::ScriptedPlugin;
use nri_plugin::host::Host;
use nri_proto::api::{self, plugin};
use prost::Message;
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy, duplex, split};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::in_process::InProcess;
use crate::plugin::{Plugin, annotated_pod, container, soon};
use crate::raw_runtime::{Connection, RawRuntime};

/// About a container that is to have the overlay, `length` bytes long or little more.
fn request(length: usize) -> api::CreateContainerRequest {
    let container = api::Container {
        args: vec!["x".repeat(length)],
        ..container("c")
    };
    api::CreateContainerRequest {
        pod: Some(annotated_pod()),
        container: Some(container),
    }
}

// containerd/nri#114, #90, containerd/containerd#10773: a plugin that was late once was closed for good.
#[tokio::test]
async fn containerd_nri_114_a_plugin_that_was_closed_for_being_late_comes_back() {
    let runtime = FakeRuntime::builder().request_timeout(Duration::from_millis(500));
    let runtime = runtime.start().await.unwrap();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    plugin.stall().await;
    let create = || runtime.create_container(annotated_pod(), container("c"));
    let late = create().await.unwrap();
    assert!(matches!(late.asked[0].answer, Answer::Lost(_)));
    runtime.stop().await;
    plugin.signal(Signal::CONT);
    plugin.until("/readyz", 503).await;

    runtime.restart().await.unwrap();
    runtime.registrations(2).await.unwrap();
    plugin.until("/readyz", 200).await;
    let next = create().await.unwrap();
    assert!(matches!(next.asked[0].answer, Answer::Adjust(_)));
}

// containers/nri-plugins#319: a plugin that could not register again pretended to be fine.
#[tokio::test]
async fn nri_plugins_319_who_cannot_register_again_is_not_ready() {
    async fn is_unready(plugin: &Plugin) {
        let (status, body) = plugin.get("/readyz").await;
        assert_eq!(status, 503);
        assert!(body.contains("not registered"), "{body}");
    }

    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    plugin.until("/readyz", 200).await;
    drop(connection);

    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    is_unready(&plugin).await;

    registration.reply(Ok(Vec::new()));
    // Once this is answered, the plugin has seen that it was accepted.
    let unknown = connection.call::<api::Empty>(plugin::RUN_POD_SANDBOX, &api::Empty {});
    unknown.await.unwrap_err();
    is_unready(&plugin).await;

    connection.configure().await;
    plugin.until("/readyz", 200).await;
}

// containers/nri-plugins#163: the directory of the socket was not there yet.
#[tokio::test]
async fn nri_plugins_163_a_socket_is_waited_for_also_without_its_directory() {
    let run = tempfile::tempdir().unwrap();
    let directory = run.path().join("nri");
    fs::create_dir(&directory).unwrap();
    let runtime = FakeRuntime::builder().socket(directory.join("nri.sock"));
    let runtime = runtime.start().await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();

    runtime.stop().await;
    fs::remove_dir_all(&directory).unwrap();
    let missing = async {
        loop {
            let line = plugin
                .logged("not registered; containers are created without the plugin")
                .await;
            if line["error"].as_str().unwrap().contains("No such file") {
                return;
            }
        }
    };
    soon("an attempt without the directory", missing).await;
    fs::create_dir(&directory).unwrap();
    runtime.restart().await.unwrap();
    runtime.registrations(2).await.unwrap();
}

// containerd/ttrpc-rust#284, #218: the connection ended early, since what served it had been dropped.
#[tokio::test]
async fn ttrpc_rust_284_ten_thousand_requests_in_a_row_are_answered_on_one_connection() {
    let runtime = RawRuntime::listen();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    let mut connection = runtime.accept().await;
    connection.register().await;
    let plain = api::CreateContainerRequest {
        pod: None,
        ..request(0)
    };
    for number in 0..10_000 {
        let answer = connection.call(plugin::CREATE_CONTAINER, &plain).await;
        let nothing = api::CreateContainerResponse::default();
        assert_eq!(answer, Ok(nothing), "request {number}");
    }
    let answer = connection.call(plugin::CREATE_CONTAINER, &request(0)).await;
    let answer: api::CreateContainerResponse = answer.unwrap();
    assert_eq!(answer.adjust.unwrap().mounts.len(), 2);
}

/// A connection of which the plugin's bytes are let through, or stay on its socket.
fn held_back(stream: UnixStream) -> (Connection, watch::Sender<bool>) {
    let (runtimes, between) = duplex(1 << 10);
    let (mut from_runtime, mut to_runtime) = split(between);
    let (mut from_plugin, mut to_plugin) = stream.into_split();
    let (let_through, mut is_let_through) = watch::channel(true);
    tokio::spawn(async move { copy(&mut from_runtime, &mut to_plugin).await });
    tokio::spawn(async move {
        let mut bytes = [0; 1 << 10];
        while is_let_through.wait_for(|it| *it).await.is_ok() {
            let length = from_plugin.read(&mut bytes).await.unwrap();
            to_runtime.write_all(&bytes[..length]).await.unwrap();
        }
    });
    (Connection::new(runtimes), let_through)
}

// containerd/ttrpc#174: who wrote to a peer that read no more was not read from any more either.
#[tokio::test]
async fn ttrpc_174_requests_are_taken_also_while_nobody_reads_the_answers() {
    /// More than a socket holds, in either direction, and fewer than the plugin keeps.
    const REQUESTS: usize = 500;
    const LENGTH: usize = 20_000;
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let (mut connection, let_through) = held_back(runtime.accept_stream().await);
    connection.register().await;
    let_through.send(false).unwrap();

    let mut asking = JoinSet::new();
    for _ in 0..REQUESTS {
        let caller = connection.caller.clone();
        let request = request(LENGTH).encode_to_vec();
        asking.spawn(async move {
            caller
                .call(plugin::SERVICE, plugin::CREATE_CONTAINER, request)
                .await
        });
    }
    let decided = async {
        let name = "nri_plugin_create_container_duration_seconds_count";
        while plugin.metric(name).await != Some(REQUESTS.to_string()) {}
    };
    soon("a decision on every container", decided).await;

    let_through.send(true).unwrap();
    let answers = soon("every answer", asking.join_all()).await;
    for answer in answers {
        let answer = api::CreateContainerResponse::decode(answer.unwrap()).unwrap();
        assert_eq!(answer.adjust.unwrap().mounts.len(), 2);
    }
}

// containerd/nri#316, kubernetes-sigs/dranet#310, confidential-dot-ai/c8s#683: a runtime that requires a plugin does
// not notice that this one was too late.
#[tokio::test]
async fn containerd_nri_316_a_container_that_a_requirement_let_through_is_told_of_by_the_plugin() {
    let runtime = FakeRuntime::builder()
        .profile(Profile::find("2.3").unwrap())
        .request_timeout(Duration::from_millis(500))
        .start()
        .await
        .unwrap();
    let required = |request: api::ValidateContainerAdjustmentRequest| {
        let mut names = request.plugins.iter().map(|plugin| plugin.name.as_str());
        let is_there = names.any(|name| name == "mokka-nri-plugin");
        is_there.then_some(()).ok_or("it is missing".to_owned())
    };
    let validator = ScriptedPlugin::new("90", "requires-it").judge(required);
    let _validator = validator.connect(runtime.socket_path()).await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.registrations(2).await.unwrap();

    plugin.stall().await;
    let create = || runtime.create_container(annotated_pod(), container("c"));
    let let_through = create().await.unwrap();
    assert!(matches!(let_through.asked[0].answer, Answer::Lost(_)));
    create().await.expect_err("only the next one is refused");

    plugin.signal(Signal::CONT);
    let line = plugin
        .logged("not registered; containers are created without the plugin")
        .await;
    assert_eq!(line["level"], "warn");
    let losses = plugin.metric("nri_plugin_connection_losses_total").await;
    assert_eq!(losses.as_deref(), Some("1"));
}

// NVIDIA/k8s-test-infra#435: that a pod came up was taken for proof of its GPUs.
#[tokio::test]
async fn k8s_test_infra_435_a_container_with_gpus_is_told_from_one_that_only_came_up() {
    let runtime = FakeRuntime::start().await.unwrap();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    let plain = runtime.create_container(api::PodSandbox::default(), container("plain"));
    let plain = plain.await.unwrap();
    assert_eq!(plain.after, plain.before);
    let injected = runtime.create_container(annotated_pod(), container("injected"));
    let injected = injected.await.unwrap();
    let added = injected.after.mounts.iter().rev().take(2);
    let added: Vec<_> = added.map(|mount| mount.destination().as_path()).collect();
    let overlay = Path::new("/opt/nvml-mock");
    assert_eq!(added, [&overlay.join("driver/config"), overlay]);

    for (decision, reason) in [
        ("unmodified", "no GPU allocation and no opt-in annotation"),
        ("adjusted", "devices annotation"),
    ] {
        let labels = format!("{{decision=\"{decision}\",reason=\"{reason}\"}}");
        let name = format!("nri_plugin_containers_total{labels}");
        assert_eq!(plugin.metric(&name).await.as_deref(), Some("1"), "{name}");
    }
}
