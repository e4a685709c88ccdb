//! `fake-runtime record`, and what is redacted.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::Path;

use fake_runtime::api::{Container, CreateContainerRequest, Mount, PodSandbox};
use fake_runtime::pod::Simulation;
use fake_runtime::profile::Profile;
use fake_runtime::recording::{Redactor, Row};
use fake_runtime::requests;
use fake_runtime::runtime::FakeRuntime;
use prost::Message as _;
use tokio::process::Command;

fn request() -> CreateContainerRequest {
    let pod = PodSandbox {
        id: "5ec7e7".into(),
        name: "secret-pod".into(),
        uid: "secret-uid".into(),
        namespace: "secret-namespace".into(),
        annotations: [
            ("nvml-mock.nvidia.com/devices".into(), "True".into()),
            ("example.com/token".into(), "secret-token".into()),
            ("io.kubernetes.cri.sandbox-name".into(), "secret-pod".into()),
        ]
        .into(),
        ..Default::default()
    };
    let container = Container {
        id: "5ec7e8".into(),
        pod_sandbox_id: "5ec7e7".into(),
        name: "secret-container".into(),
        args: vec!["/bin/secret".into()],
        env: vec!["PASSWORD=secret".into(), "EMPTY=".into()],
        mounts: vec![Mount {
            destination: "/data".into(),
            source: "/srv/secret".into(),
            ..Default::default()
        }],
        ..Default::default()
    };
    CreateContainerRequest {
        pod: Some(pod),
        container: Some(container),
    }
}

/// Records one container from a fake runtime, and returns what was written.
async fn record(dir: &Path, args: &[&str]) -> String {
    let runtime = FakeRuntime::builder()
        .profile(Profile::find("2.3").unwrap())
        .inventory(vec![request().pod.unwrap()], vec![])
        .start()
        .await
        .unwrap();
    let mut tool = Command::new(env!("CARGO_BIN_EXE_fake-runtime"))
        .current_dir(dir)
        .args(["record", "-o", "requests.jsonl", "--count", "1", "--socket"])
        .arg(runtime.socket_path())
        .args(args)
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    assert_eq!(
        runtime.plugin_registered().await.unwrap().to_string(),
        "00-recorder"
    );
    let CreateContainerRequest { pod, container } = request();
    let created = runtime.create_container(pod, container).await.unwrap();
    assert_eq!(
        created.before, created.after,
        "the recorder changes nothing"
    );
    assert!(tool.wait().await.unwrap().success());
    std::fs::read_to_string(dir.join("requests.jsonl")).unwrap()
}

#[tokio::test]
async fn everything_is_written_as_it_came_when_told_so_and_reads_back() {
    let dir = tempfile::tempdir().unwrap();
    let written = record(dir.path(), &["--raw"]).await;
    let rpcs: Vec<String> = written
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["rpc"].to_string())
        .collect();
    assert_eq!(
        rpcs,
        [r#""Configure""#, r#""Synchronize""#, r#""CreateContainer""#]
    );

    let read = requests::read(&dir.path().join("requests.jsonl"), &Simulation::default()).unwrap();
    assert_eq!(read.requests, [request()]);
    assert_eq!(read.profile.name, "2.3", "the containerd that was recorded");
}

#[tokio::test]
async fn nothing_private_is_written_otherwise() {
    let dir = tempfile::tempdir().unwrap();
    let written = record(dir.path(), &[]).await;
    assert!(
        !written.contains("secret") && !written.contains("5ec7e"),
        "{written}"
    );

    let read = requests::read(&dir.path().join("requests.jsonl"), &Simulation::default()).unwrap();
    let CreateContainerRequest { pod, container } = read.requests[0].clone();
    let (pod, container) = (pod.unwrap(), container.unwrap());
    assert_eq!(
        pod.annotations["nvml-mock.nvidia.com/devices"], "True",
        "plugins decide by it"
    );
    assert_eq!(
        pod.annotations["io.kubernetes.cri.sandbox-name"], pod.name,
        "still the same"
    );
    assert_eq!(container.pod_sandbox_id, pod.id, "still the same");
    assert_eq!(container.env, ["PASSWORD=redacted", "EMPTY="]);
    assert_eq!(container.mounts[0].destination, "/data");
}

#[test]
fn of_a_real_recording_only_what_plugins_decide_by_is_left() {
    let file = "../tests/recorded/requests-containerd-2.3.4.jsonl.gz";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let mut redactor = Redactor::default();
    for request in requests::read(&file, &Simulation::default())
        .unwrap()
        .requests
    {
        let payload = request.encode_to_vec();
        let row = Row::of("CreateContainer", &payload, Some(&mut redactor))
            .unwrap()
            .unwrap();
        let redacted: CreateContainerRequest = serde_json::from_value(row.request).unwrap();
        let (pod, container) = (request.pod.unwrap(), request.container.unwrap());
        let linux = redacted.container.clone().unwrap().linux.unwrap();
        assert_eq!(linux.devices, container.linux.clone().unwrap().devices);
        assert_eq!(linux.resources, container.linux.unwrap().resources);
        let text = serde_json::to_string(&redacted).unwrap();
        for private in [
            &pod.id,
            &pod.uid,
            &pod.name,
            &container.id,
            "/var/lib",
            "/bin/sleep",
            "busybox",
        ] {
            assert!(!text.contains(private), "{private} in {text}");
        }
    }
}

#[test]
fn a_request_that_json_cannot_say_is_an_error_and_not_an_empty_row() {
    let container = Container {
        state: 9,
        ..Container::default()
    };
    let request = CreateContainerRequest {
        container: Some(container),
        ..CreateContainerRequest::default()
    };
    let row = Row::of("CreateContainer", &request.encode_to_vec(), None);
    assert_eq!(
        row.unwrap_err().to_string(),
        "a request that has no JSON form: Invalid variant 9"
    );
}

#[tokio::test]
async fn whoever_has_the_answer_has_the_row() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("requests.jsonl");
    let runtime = FakeRuntime::start().await.unwrap();
    let _tool = Command::new(env!("CARGO_BIN_EXE_fake-runtime"))
        .args(["record", "-o"])
        .arg(&file)
        .arg("--socket")
        .arg(runtime.socket_path())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    runtime.plugin_registered().await.unwrap();
    for count in 1..=20 {
        let CreateContainerRequest { pod, container } = request();
        let created = runtime.create_container(pod, container).await;
        created.unwrap();
        // The tool might be killed now.
        let read = requests::read(&file, &Simulation::default()).unwrap();
        assert_eq!(read.requests.len(), count);
    }
}
