//! A pod's whole life on real containerd: what a plugin is told of it is what the fake runtime tells.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use Containerd::{V1_7, V2};
use containerd_tests::cri::v1::LinuxContainerResources;
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec};
use fake_runtime::FakeRuntime;
use fake_runtime::life::Step;
use fake_runtime::profile::Profile;
use fake_runtime::recording::Row;
use fake_runtime::scripted::{ScriptedConnection, ScriptedPlugin};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::Value;

type Rows = Arc<Mutex<Vec<Value>>>;

/// Writes down every call but the validation, as `fake-runtime record` does.
async fn recorder(socket: &Path, events: i32) -> (Rows, ScriptedConnection) {
    let rows = Rows::default();
    let keep = Arc::clone(&rows);
    let plugin = ScriptedPlugin::new("00", "recorder")
        .events(events)
        .others(|_, _| Some(Vec::new()))
        .observe(move |method, payload| {
            let row = Row::of(method, payload, None).unwrap();
            keep.lock()
                .unwrap()
                .push(serde_json::to_value(row).unwrap());
        });
    (rows, plugin.connect(socket).await.unwrap())
}

fn resources(shares: i64, memory: i64) -> LinuxContainerResources {
    LinuxContainerResources {
        cpu_shares: shares,
        memory_limit_in_bytes: memory,
        ..Default::default()
    }
}

/// Has a pod created, updated, crashed, restarted, stopped and removed.
async fn live(node: &Node) {
    let pod = PodSpec::new("life").annotation("tells", "nothing");
    let pod = node.run_pod(pod).await;
    let until_told = "until [ -e /tmp/end ]; do usleep 10000; done; exit 3";
    let spec = ContainerSpec::new("main").script(until_told);
    let spec = spec.resources(resources(512, 64 << 20));
    let first = pod.start(spec.clone()).await;
    first.update(resources(1024, 128 << 20)).await;
    first.run("touch /tmp/end").await;
    assert_eq!(first.exit_code().await, 3);
    let second = pod.start(spec.again()).await;
    first.remove().await;
    second.stop().await;
    second.remove().await;
    pod.remove().await;
}

/// The same life on the fake runtime.
async fn live_again(profile: &'static Profile, recorded: &[Value]) -> Vec<Value> {
    let runtime = FakeRuntime::builder()
        .profile(profile)
        .start()
        .await
        .unwrap();
    let (rows, _connection) = recorder(runtime.socket_path(), profile.events & !(1 << 13)).await;
    runtime.plugin_registered().await.unwrap();
    for row in recorded {
        if let Some(step) = Step::of_row(row).unwrap() {
            step.happen(&runtime).await.unwrap();
        }
    }
    let rows = rows.lock().unwrap();
    rows.iter().map(told).collect()
}

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

#[rstest]
#[tokio::test]
async fn a_pods_life_is_told_as_the_fake_runtime_tells_it(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let since = node.log().from_now();
    let (rows, connection) = recorder(&node.nri_socket(), 0x7ff).await;
    Plugin::asked_by(&since).await;
    live(&node).await;
    connection.leave().await;

    let rows = rows.lock().unwrap().clone();
    if let Some(directory) = std::env::var_os("KEEP_RECORDING") {
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        let file = format!("life-{containerd:?}.jsonl");
        std::fs::write(Path::new(&directory).join(file), lines).unwrap();
    }
    let version = rows[0]["request"]["runtimeVersion"].as_str().unwrap();
    let profile = Profile::find(version).unwrap();
    let recorded: Vec<Value> = rows.iter().map(told).collect();
    assert_eq!(live_again(profile, &rows).await, recorded);
}
