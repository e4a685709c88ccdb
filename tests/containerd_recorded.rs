//! Real containerd, recorded: what `fake-runtime record` writes and `fake-runtime replay` plays again comes to
//! what came of it live.

use std::process::{Output, Stdio};

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, IMEX_CHANNELS, INFINIBAND};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec, binary};
use mock_node::staging::Overlay;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::process::Command;

#[rstest]
#[tokio::test]
async fn a_recording_replays_to_what_happened(#[values(V1_7, V2)] containerd: Containerd) {
    let node = Node::start(containerd).await;
    let plugin = Plugin::start_alone(&node, &[]).await;
    let pods = [
        PodSpec::new("plain"),
        PodSpec::new("annotated").annotation(DEVICES, "true"),
        PodSpec::new("infiniband").annotation(INFINIBAND, "true"),
        PodSpec::new("imex").annotation(IMEX_CHANNELS, "true"),
    ];
    let directory = tempfile::tempdir().unwrap();
    let recording = directory.path().join("requests.jsonl");
    let since = node.log().from_now();
    let mut recorder = Command::new(binary::fake_runtime())
        .args(["record", "--raw", "--count", &pods.len().to_string()])
        .arg("--socket")
        .arg(node.nri_socket())
        .arg("--output")
        .arg(&recording)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    Plugin::asked_by(&since).await;
    let mut specs = Vec::new();
    let mut decided = Vec::new();
    for pod in pods {
        let log = plugin.log().from_now();
        let pod = node.run_pod(pod).await;
        let container = pod.start(ContainerSpec::new("main")).await;
        specs.push(container.oci_spec().await);
        let line = log.wait_for("\"container decided\"").await;
        decided.push(serde_json::from_str::<Value>(&line).unwrap());
    }
    assert!(recorder.wait().await.unwrap().success());

    let replayed = Command::new(binary::mock_node())
        .args(["replay", "--output=json"])
        .arg(&recording)
        .arg("--plugin")
        .arg(binary::nri_plugin())
        .arg("--")
        .args(Overlay::plugin_flags(&node.overlay()))
        .stderr(Stdio::inherit())
        .output()
        .await
        .unwrap();
    let mut replayed = objects(&replayed);
    // A recording has the other events of a pod's life, too.
    replayed.retain(|object| object["asked"].is_array() && object["decision"].is_string());
    assert_eq!(replayed.len(), specs.len());
    for ((again, live), spec) in replayed.iter().zip(&decided).zip(&specs) {
        let adjust = &again["asked"][0]["adjust"];
        assert_eq!(
            json!({
                "decision": again["decision"],
                "reason": again["reason"],
                "mounts": list(&adjust["mounts"]).len(),
                "env": list(&adjust["env"]).len(),
                "devices": list(&adjust["linux"]["devices"]).len(),
            }),
            json!({
                "decision": live["decision"],
                "reason": live["reason"],
                "mounts": live["mounts"],
                "env": live["env"],
                "devices": live["devices"],
            })
        );
        for mount in list(&adjust["mounts"]) {
            assert!(list(&spec["mounts"]).contains(mount), "{mount}");
        }
        for variable in list(&adjust["env"]) {
            let [key, value] = ["key", "value"].map(|part| variable[part].as_str().unwrap());
            let variable = json!(format!("{key}={value}"));
            assert!(
                list(&spec["process"]["env"]).contains(&variable),
                "{variable}"
            );
        }
        for device in list(&adjust["linux"]["devices"]) {
            let mut devices = list(&spec["linux"]["devices"]).iter();
            assert!(
                devices.any(|live| live["path"] == device["path"]),
                "{device}"
            );
        }
    }
}

fn objects(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "replay: {}", output.status);
    let lines = String::from_utf8_lossy(&output.stdout);
    let lines = lines.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("an object a line")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
