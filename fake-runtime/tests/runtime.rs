//! The fake runtime as a plugin meets it.

use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::profile::Profile;
use fake_runtime::runtime::{Expectation, FakeRuntime, Received};
use fake_runtime::scripted::{Reply, ScriptedPlugin};
use nri_proto::api::{Container, ContainerAdjustment, KeyValue, PodSandbox};
use nri_proto::wire::{Code, Status};
use tokio::time::{Instant, advance};

fn pod() -> PodSandbox {
    PodSandbox {
        name: "pod".into(),
        namespace: "default".into(),
        ..Default::default()
    }
}

fn container() -> Container {
    Container {
        name: "main".into(),
        ..Default::default()
    }
}

fn env(key: &str, value: &str) -> ContainerAdjustment {
    let pair = KeyValue {
        key: key.into(),
        value: value.into(),
    };
    ContainerAdjustment {
        env: vec![pair],
        ..Default::default()
    }
}

#[tokio::test]
async fn a_plugin_is_asked_once_it_is_registered() {
    let runtime = FakeRuntime::start().await.unwrap();
    let plugin =
        ScriptedPlugin::new("10", "test").reply(|_| Reply::Adjust(Box::new(env("A", "1"))));
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    let info = runtime.plugin_registered().await.unwrap();
    assert_eq!((info.to_string().as_str(), info.events), ("10-test", 8));

    let created = runtime.create_container(pod(), container()).await.unwrap();
    assert_eq!(
        created.asked[0].answer,
        Answer::Adjust(Box::new(env("A", "1")))
    );
}

#[tokio::test]
async fn plugins_are_asked_in_the_order_of_their_indices() {
    let runtime = FakeRuntime::start().await.unwrap();
    let mut connections = Vec::new();
    for (index, registered) in [("20", 1), ("05", 2), ("10", 3)] {
        let plugin = ScriptedPlugin::new(index, "test");
        connections.push(plugin.connect(runtime.socket_path()).await.unwrap());
        runtime.registrations(registered).await.unwrap();
    }
    let created = runtime.create_container(pod(), container()).await.unwrap();
    let asked: Vec<_> = created
        .asked
        .iter()
        .map(|answer| answer.plugin.as_str())
        .collect();
    assert_eq!(asked, ["05-test", "10-test", "20-test"]);
}

#[tokio::test]
async fn an_error_refuses_the_container_and_the_plugin_stays() {
    let runtime = FakeRuntime::start().await.unwrap();
    let plugin = ScriptedPlugin::new("10", "test")
        .reply(|_| Reply::Error(Status::new(Code::UNKNOWN, "not \"today\"")));
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();

    let refused = runtime
        .create_container(pod(), container())
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "failed to create containerd container: failed to get NRI adjustment for container: \
         rpc error: code = Unknown desc = not \"today\""
    );
    assert_eq!(runtime.plugins().len(), 1);
}

#[tokio::test]
async fn what_a_validator_rejects_is_refused_in_its_words() {
    let newer = Profile::find("2.3").unwrap();
    let runtime = FakeRuntime::builder().profile(newer).start().await.unwrap();
    let validator = ScriptedPlugin::new("90", "judge").judge(|request| {
        let added = request.adjust.unwrap_or_default().env;
        match added.is_empty() {
            true => Ok(()),
            false => Err(format!("{} is not welcome", added[0].key)),
        }
    });
    let _validator = validator.connect(runtime.socket_path()).await.unwrap();
    runtime.registrations(1).await.unwrap();
    runtime.create_container(pod(), container()).await.unwrap();

    let plugin =
        ScriptedPlugin::new("10", "test").reply(|_| Reply::Adjust(Box::new(env("A", "1"))));
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.registrations(2).await.unwrap();
    let refused = runtime
        .create_container(pod(), container())
        .await
        .unwrap_err();
    let text = refused.to_string();
    assert!(text.contains("A is not welcome"), "{text}");
}

// What a plugin costs is measured beside one that waits for nothing.
#[tokio::test(start_paused = true)]
async fn an_answer_without_a_delay_waits_for_no_timer() {
    let runtime = FakeRuntime::start().await.unwrap();
    let plugin = ScriptedPlugin::new("10", "idle");
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();
    // Between two of the timer's ticks: on one, no time at all is slept in no time.
    advance(Duration::from_micros(500)).await;
    let begun = Instant::now();
    runtime.create_container(pod(), container()).await.unwrap();
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_late_answer_closes_the_connection_and_the_container_is_created_without_it() {
    let runtime = FakeRuntime::builder()
        .request_timeout(Duration::from_millis(50))
        .start()
        .await
        .unwrap();
    let plugin = ScriptedPlugin::new("10", "late").delay(Duration::from_secs(60));
    let plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();

    let created = runtime.create_container(pod(), container()).await.unwrap();
    assert_eq!(
        created.asked[0].answer,
        Answer::Lost("context deadline exceeded".into())
    );
    plugin.closed().await;
    runtime.plugins_gone().await.unwrap();
    assert!(
        runtime
            .create_container(pod(), container())
            .await
            .unwrap()
            .asked
            .is_empty()
    );
}

#[tokio::test]
async fn a_silent_connection_keeps_others_waiting_until_its_time_is_up() {
    let runtime = FakeRuntime::builder()
        .registration_timeout(Duration::from_millis(50))
        .start()
        .await
        .unwrap();
    let _silent = tokio::net::UnixStream::connect(runtime.socket_path())
        .await
        .unwrap();
    let plugin = ScriptedPlugin::new("10", "test");
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();

    let received: Vec<_> = runtime.received().iter().map(ToString::to_string).collect();
    assert_eq!(
        received[..3],
        [
            "connection 1 connected",
            "connection 1 was rejected: plugin registration timed out",
            "connection 1 is disconnected: the runtime closed the connection",
        ]
    );
}

#[tokio::test]
async fn a_bad_index_is_refused_in_containerds_words() {
    let runtime = FakeRuntime::start().await.unwrap();
    let error = ScriptedPlugin::new("100", "test")
        .connect(runtime.socket_path())
        .await;
    assert_eq!(
        error.unwrap_err().to_string(),
        "the runtime refused the registration: invalid plugin index \"100\", must be 2 digits (unknown)"
    );
}

#[tokio::test]
async fn an_event_that_the_version_does_not_know_closes_the_connection() {
    let old = Profile::find("2.1").unwrap();
    let runtime = FakeRuntime::builder().profile(old).start().await.unwrap();
    let plugin = ScriptedPlugin::new("10", "test").events(0x3fff);
    plugin
        .connect(runtime.socket_path())
        .await
        .unwrap()
        .closed()
        .await;
    let why = runtime
        .received_one("a rejection", |received| match received {
            Received::Rejected { why, .. } => Some(why.clone()),
            _ => None,
        })
        .await;
    assert_eq!(why.unwrap(), "invalid plugin events: 0x3800");
}

#[tokio::test]
async fn a_large_inventory_comes_in_parts() {
    let label = ("filler".to_owned(), "x".repeat(100 << 10));
    let pods: Vec<_> = (0..100)
        .map(|n| PodSandbox {
            id: n.to_string(),
            labels: [label.clone()].into(),
            ..pod()
        })
        .collect();
    let runtime = FakeRuntime::builder()
        .inventory(pods, vec![])
        .start()
        .await
        .unwrap();
    let plugin = ScriptedPlugin::new("10", "test");
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();

    let parts = runtime
        .received_one("a synchronization", |received| match received {
            Received::Synchronized { parts, .. } => Some(*parts),
            _ => None,
        })
        .await;
    assert_eq!(parts.unwrap(), 3, "of 40 pods, 40 and 20");
}

#[tokio::test]
async fn a_restart_closes_every_connection_and_listens_on_the_same_path() {
    let runtime = FakeRuntime::start().await.unwrap();
    let plugin = || ScriptedPlugin::new("10", "test");
    let first = plugin().connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();

    runtime.stop().await;
    first.closed().await;
    assert!(runtime.plugins().is_empty());
    assert!(runtime.socket_path().exists(), "the file stays");
    assert!(
        plugin().connect(runtime.socket_path()).await.is_err(),
        "with nobody behind it"
    );

    runtime.restart().await.unwrap();
    let _second = plugin().connect(runtime.socket_path()).await.unwrap();
    runtime.registrations(2).await.unwrap();
}

#[tokio::test]
#[should_panic(expected = "a registration: expected at least 1, received 0\nreceived: nothing")]
async fn an_expectation_that_is_not_met_fails_the_test_when_the_runtime_is_dropped() {
    let runtime = FakeRuntime::start().await.unwrap();
    let registers = |received: &Received| matches!(received, Received::Registered { .. });
    runtime.expect(Expectation::new("a registration", registers));
}

#[tokio::test]
async fn waiting_in_vain_ends_with_a_report() {
    let runtime = FakeRuntime::builder()
        .patience(Duration::from_millis(10))
        .start()
        .await
        .unwrap();
    let vain = runtime.plugin_registered().await.unwrap_err();
    assert_eq!(
        vain.to_string(),
        "waited 10ms for a registered plugin in vain; received: nothing"
    );
}

#[tokio::test]
async fn a_socket_path_that_the_kernel_does_not_take_is_named() {
    let path = format!("/tmp/{}", "x".repeat(103));
    let error = FakeRuntime::builder()
        .socket(&path)
        .start()
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the socket path {path} has 108 bytes: a unix socket's path must have fewer than 108"
        )
    );
}
