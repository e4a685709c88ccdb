//! A pod's whole life: what plugins are told of it, and what becomes of what they answer.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fake_runtime::FakeRuntime;
use fake_runtime::api::{
    ConfigureResponse, Container, ContainerUpdate, CreateContainerResponse, LinuxContainerUpdate,
    LinuxCpu, LinuxResources, OptionalUInt64, PodSandbox, RegisterPluginRequest,
    StopContainerResponse, SynchronizeResponse, UpdateContainerResponse, UpdateContainersRequest,
    plugin, runtime,
};
use fake_runtime::create::Answer;
use fake_runtime::jsonl;
use fake_runtime::life::Step;
use fake_runtime::profile::Profile;
use fake_runtime::recording::Row;
use fake_runtime::runtime::{DefaultValidator, Heard, Received, UpdateFate};
use fake_runtime::scripted::ScriptedPlugin;
use nri_proto::wire::{self, Side};
use prost::Message as _;
use serde_json::Value;
use tokio::net::UnixStream;

const EVERY_EVENT_OF_1_7: i32 = 0x7ff;
const UPDATE_CONTAINER: i32 = 1 << 7;
const STOP_CONTAINER: i32 = 1 << 9;

/// A row without what differs from one life to the next: times, and the numbers of processes.
fn told(row: &Value) -> Value {
    let mut row = row.clone();
    for about in ["pod", "container"] {
        let Some(fields) = row["request"][about].as_object_mut() else {
            continue;
        };
        for (key, value) in fields {
            if key == "pid" || key.ends_with("At") {
                *value = "some".into();
            }
        }
    }
    row
}

#[tokio::test]
async fn a_recorded_life_is_told_again_field_by_field() {
    for version in ["1.7.24", "2.1.9"] {
        let file = format!("../tests/recorded/life-containerd-{version}.jsonl.gz");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let recorded: Vec<Value> = jsonl::rows(&file, &jsonl::text(&file).unwrap()).unwrap();
        assert_eq!(recorded.len(), 19);

        let profile = Profile::find(version).unwrap();
        let runtime = FakeRuntime::builder()
            .profile(profile)
            .start()
            .await
            .unwrap();
        let rows = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&rows);
        let recorder = ScriptedPlugin::new("00", "recorder")
            .events(EVERY_EVENT_OF_1_7)
            .others(|_, _| Some(Vec::new()))
            .observe(move |method, payload| {
                let row = Row::of(method, payload, None).unwrap();
                keep.lock()
                    .unwrap()
                    .push(serde_json::to_value(row).unwrap());
            });
        let _recorder = recorder.connect(runtime.socket_path()).await.unwrap();
        runtime.plugin_registered().await.unwrap();
        for row in &recorded {
            if let Some(step) = Step::of_row(row).unwrap() {
                step.happen(&runtime).await.unwrap();
            }
        }
        let rows = rows.lock().unwrap();
        for (again, recorded) in rows.iter().zip(&recorded) {
            assert_eq!(told(again), told(recorded), "on {version}");
        }
        assert_eq!(rows.len(), recorded.len());
    }
}

fn pod() -> PodSandbox {
    PodSandbox {
        id: "p".into(),
        name: "pod".into(),
        namespace: "default".into(),
        ..Default::default()
    }
}

fn container(id: &str) -> Container {
    Container {
        id: id.into(),
        name: id.into(),
        pod_sandbox_id: "p".into(),
        ..Default::default()
    }
}

fn shares(id: &str, value: u64) -> ContainerUpdate {
    let resources = LinuxResources {
        cpu: Some(LinuxCpu {
            shares: Some(OptionalUInt64 { value }),
            ..Default::default()
        }),
        ..Default::default()
    };
    ContainerUpdate {
        container_id: id.into(),
        linux: Some(LinuxContainerUpdate {
            resources: Some(resources),
        }),
        ignore_failure: false,
    }
}

fn shares_of(runtime: &FakeRuntime, id: &str) -> Option<u64> {
    let linux = runtime.container(id).unwrap().linux?;
    Some(linux.resources?.cpu?.shares?.value)
}

/// A runtime with two running containers, `a` and `b`.
async fn running(version: &str) -> FakeRuntime {
    let profile = Profile::find(version).unwrap();
    let builder = FakeRuntime::builder().profile(profile);
    let runtime = builder
        .request_timeout(Duration::from_millis(300))
        .start()
        .await
        .unwrap();
    runtime.run_pod(pod()).await;
    for id in ["a", "b"] {
        runtime
            .create_container(pod(), container(id))
            .await
            .unwrap();
        runtime.start_container(id).await.unwrap();
    }
    runtime
}

#[tokio::test]
async fn what_a_plugin_gives_to_others_when_a_container_stops_is_given() {
    let runtime = running("2.1").await;
    let plugin = ScriptedPlugin::new("10", "giver")
        .events(STOP_CONTAINER)
        .others(|_, _| {
            let update = vec![shares("b", 77), shares("gone", 1)];
            Some(StopContainerResponse { update }.encode_to_vec())
        });
    let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
    runtime.plugin_registered().await.unwrap();
    let turn = runtime.container_exits("a", 3).await.unwrap();
    let fates: Vec<_> = turn.updates.iter().map(|it| it.fate).collect();
    assert_eq!(fates, [UpdateFate::Applied, UpdateFate::NoSuchContainer]);
    assert_eq!(shares_of(&runtime, "b"), Some(77));
}

#[tokio::test]
async fn two_plugins_that_want_the_same_of_a_container_refuse_its_update() {
    let runtime = running("2.1").await;
    let mut plugins = Vec::new();
    for index in ["10", "20"] {
        let plugin = ScriptedPlugin::new(index, "same")
            .events(UPDATE_CONTAINER)
            .others(|_, _| {
                let update = vec![shares("a", 5)];
                let answer = UpdateContainerResponse {
                    update,
                    ..Default::default()
                };
                Some(answer.encode_to_vec())
            });
        plugins.push(plugin.connect(runtime.socket_path()).await.unwrap());
        runtime.registrations(plugins.len()).await.unwrap();
    }
    let turn = runtime
        .update_container("a", LinuxResources::default())
        .await
        .unwrap();
    assert_eq!(
        turn.refused.as_deref(),
        Some(
            "NRI container update failed: plugins \"20-same\" and \"10-same\" both tried to set CPU shares"
        )
    );
}

#[tokio::test]
async fn a_plugin_that_implements_no_event_of_its_mask_costs_the_pod_on_2_3() {
    for (version, refused) in [("2.3", true), ("2.1", true)] {
        let profile = Profile::find(version).unwrap();
        let runtime = FakeRuntime::builder()
            .profile(profile)
            .start()
            .await
            .unwrap();
        let plugin = ScriptedPlugin::new("10", "greedy").events(EVERY_EVENT_OF_1_7);
        let _plugin = plugin.connect(runtime.socket_path()).await.unwrap();
        runtime.plugin_registered().await.unwrap();
        let turn = runtime.run_pod(pod()).await;
        assert_eq!(turn.refused.is_some(), refused, "{turn:?}");
        let why = turn.refused.unwrap();
        let start = "NRI RunPodSandbox failed: rpc error: code = Unimplemented desc = ";
        assert!(why.starts_with(start), "{why}");
        assert!(matches!(turn.told[0].heard, Heard::Error(_)));
    }
}

/// Registers a plugin that calls UpdateContainers for `b` while it is asked about a container.
async fn asks_while_it_is_asked(socket: &Path) {
    let stream = UnixStream::connect(socket).await.unwrap();
    let (caller, mut incoming, driver) = wire::open(stream, Side::Plugin);
    tokio::spawn(driver.run());
    tokio::spawn({
        let caller = caller.clone();
        async move {
            while let Some(request) = incoming.next().await {
                let answer = match request.method.as_str() {
                    plugin::CONFIGURE => ConfigureResponse { events: 8 }.encode_to_vec(),
                    plugin::SYNCHRONIZE => SynchronizeResponse::default().encode_to_vec(),
                    _ => {
                        let asked = update_b();
                        let _ = caller
                            .call(runtime::SERVICE, runtime::UPDATE_CONTAINERS, asked)
                            .await;
                        CreateContainerResponse::default().encode_to_vec()
                    }
                };
                request.reply(Ok(answer));
            }
        }
    });
    let register = RegisterPluginRequest {
        plugin_name: "impatient".into(),
        plugin_idx: "10".into(),
        ..Default::default()
    };
    let register = register.encode_to_vec();
    let registered = caller.call(runtime::SERVICE, runtime::REGISTER_PLUGIN, register);
    registered.await.unwrap();
}

fn update_b() -> Vec<u8> {
    let update = vec![shares("b", 99)];
    let request = UpdateContainersRequest {
        update,
        ..Default::default()
    };
    request.encode_to_vec()
}

#[tokio::test]
async fn containerd_13733_who_updates_containers_while_it_is_asked_waits_until_it_is_closed() {
    let runtime = running("2.1").await;
    asks_while_it_is_asked(runtime.socket_path()).await;
    runtime.plugin_registered().await.unwrap();
    let created = runtime
        .create_container(pod(), container("c"))
        .await
        .unwrap();
    assert_eq!(
        created.asked[0].answer,
        Answer::Lost("context deadline exceeded".into())
    );
    assert!(created.asked[0].latency >= Duration::from_millis(300));
    // The lock is free then, and what was asked happens all the same.
    let updated = runtime.received_one("an update", |received| match received {
        Received::UpdateContainers { updates, .. } => Some(updates[0].fate),
        _ => None,
    });
    assert_eq!(updated.await.unwrap(), UpdateFate::Applied);
}

#[tokio::test]
async fn a_required_plugin_that_is_missing_costs_the_container_where_the_validator_is_on() {
    let validator = || DefaultValidator::default();
    for (version, refused) in [("2.1", false), ("2.3", true)] {
        let profile = Profile::find(version).unwrap();
        let builder = FakeRuntime::builder().profile(profile);
        let runtime = builder
            .default_validator(validator())
            .start()
            .await
            .unwrap();
        let mut pod = pod();
        let key = "required-plugins.noderesource.dev/container.a";
        pod.annotations.insert(key.into(), "[req, other]".into());
        let created = runtime.create_container(pod.clone(), container("a")).await;
        assert_eq!(created.is_err(), refused);
        if let Err(refused) = created {
            let text = refused.to_string();
            let reason = "validator \"00-default-validator\" rejected container adjustment, reason: \
                          validation error: required plugins \"req,other\" not present";
            assert!(text.ends_with(reason), "{text}");
        }
        runtime.create_container(pod, container("b")).await.unwrap();
    }
}

/// Asks for a change of `id` when it is asked about a container.
async fn created_with_update_of(id: &'static str) -> (FakeRuntime, Result<(), String>) {
    let runtime = running("2.1").await;
    let stream = UnixStream::connect(runtime.socket_path()).await.unwrap();
    let (caller, mut incoming, driver) = wire::open(stream, Side::Plugin);
    tokio::spawn(driver.run());
    tokio::spawn(async move {
        while let Some(request) = incoming.next().await {
            let answer = match request.method.as_str() {
                plugin::CONFIGURE => ConfigureResponse { events: 8 }.encode_to_vec(),
                plugin::SYNCHRONIZE => SynchronizeResponse::default().encode_to_vec(),
                _ => CreateContainerResponse {
                    update: vec![shares(id, 11)],
                    ..Default::default()
                }
                .encode_to_vec(),
            };
            request.reply(Ok(answer));
        }
    });
    let register = RegisterPluginRequest {
        plugin_name: "updater".into(),
        plugin_idx: "10".into(),
        ..Default::default()
    };
    let register = register.encode_to_vec();
    let registered = caller.call(runtime::SERVICE, runtime::REGISTER_PLUGIN, register);
    registered.await.unwrap();
    runtime.plugin_registered().await.unwrap();
    let created = runtime.create_container(pod(), container("c")).await;
    let created = created.map(drop).map_err(|refused| refused.to_string());
    (runtime, created)
}

#[tokio::test]
async fn an_update_of_the_container_in_creation_refuses_it_and_one_of_another_is_applied() {
    let (_runtime, created) = created_with_update_of("c").await;
    assert_eq!(
        created.unwrap_err(),
        "failed to create containerd container: failed to get NRI adjustment for container: \
         plugin \"10-updater\" asked update of \"c\" during creation"
    );
    let (runtime, created) = created_with_update_of("a").await;
    created.unwrap();
    assert_eq!(shares_of(&runtime, "a"), Some(11));
}
