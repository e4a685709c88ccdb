//! What real containerd asked about, asked again of the built plugin: which containers are injected, which are not,
//! and why.

use std::path::Path;
use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::jsonl;
use fake_runtime::process::PluginProcess;
use fake_runtime::product::Decision;
use fake_runtime::profile::Profile;
use fake_runtime::recording::Redactor;
use fake_runtime::runtime::FakeRuntime;
use mock_node::plugin;
use mock_node::staging::{Devices, Overlay};
use nri_proto::api::{ContainerAdjustment, CreateContainerRequest};
use serde_json::Value;

const ALLOCATED: &str = "GPU allocation";
const NOTHING: &str = "no GPU allocation and no opt-in annotation";
const EXCLUDED: &str = "excluded namespace";

/// Each recorded container, whether it is injected, and why.
const CONTAINERS: [(&str, &str, &str); 23] = [
    ("plain", "unmodified", NOTHING),
    ("image-cmd", "unmodified", NOTHING),
    ("argv", "unmodified", NOTHING),
    ("env-forms", "unmodified", NOTHING),
    // It mounts something at the overlay's place, which nobody looks at since nothing asks for the overlay.
    ("mounts", "unmodified", NOTHING),
    // A device plugin's node with a grant of its own. That it has the numbers of /dev/null does not matter.
    ("cri-device-rwm", "adjusted", ALLOCATED),
    ("cri-device-r", "adjusted", ALLOCATED),
    // The CDI name `nvidia.com/gpu=0` is no evidence; the node and the rule that CDI made of it are.
    ("cri-cdi", "adjusted", ALLOCATED),
    ("cri-cdi-two", "adjusted", ALLOCATED),
    ("cri-cdi-annotation", "adjusted", ALLOCATED),
    // `inject: TRUE` is no opt-out.
    (
        "ann-main",
        "adjusted",
        "devices annotation, imex-channels annotation",
    ),
    // Every device of the host, and one rule for all of them: nobody allocated anything.
    ("privileged", "unmodified", NOTHING),
    ("privileged-mounts", "unmodified", NOTHING),
    ("unprivileged-in-privileged-pod", "unmodified", NOTHING),
    ("resources", "unmodified", NOTHING),
    ("user", "unmodified", NOTHING),
    ("username", "unmodified", NOTHING),
    ("hostipc-hostpid", "unmodified", NOTHING),
    // Annotated, but in kube-system.
    ("init", "unmodified", EXCLUDED),
    ("app", "unmodified", EXCLUDED),
    ("sidecar", "unmodified", EXCLUDED),
    ("sharedpid", "unmodified", NOTHING),
    ("rlimits-hooks", "unmodified", NOTHING),
];

/// The recorded CreateContainer requests of one version, by container.
fn recorded(version: &str) -> Vec<(String, CreateContainerRequest)> {
    let file = format!("tests/recorded/requests-containerd-{version}.jsonl.gz");
    let rows: Vec<Value> = jsonl::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file))
        .expect("the project's own copy of the recordings");
    rows.into_iter()
        .filter(|row| row["rpc"] == "CreateContainer")
        .map(|row| {
            let request = serde_json::from_value(row["request"].clone());
            (
                row["container"].as_str().unwrap_or_default().to_owned(),
                request.expect("a request"),
            )
        })
        .collect()
}

async fn start_plugin(runtime: &FakeRuntime, overlay: &Path) -> PluginProcess {
    let socket = format!("--socket-path={}", runtime.socket_path().display());
    plugin::command(env!("CARGO_BIN_EXE_nri-plugin"))
        .args([&*socket, "--health-addr=", "--log-level=debug"])
        .args(Overlay::plugin_flags(overlay))
        .spawn()
        .expect("the plugin starts")
}

/// Asks about every recorded container of a version, of which each request is changed first.
async fn replay(version: &str, mut change: impl FnMut(&mut CreateContainerRequest)) {
    let node = tempfile::tempdir().expect("a directory for the overlay");
    Overlay::default()
        .stage(node.path(), Devices::as_permitted())
        .expect("an overlay");
    let profile = Profile::find(version).expect("a profile");
    let runtime = FakeRuntime::builder()
        .profile(profile)
        .start()
        .await
        .expect("a runtime");
    let mut plugin = start_plugin(&runtime, node.path()).await;
    runtime
        .plugin_registered()
        .await
        .expect("the plugin registers");

    let recorded = recorded(version);
    let names: Vec<_> = recorded.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, CONTAINERS.map(|(name, ..)| name), "{version}");
    for ((name, mut request), (_, decision, reason)) in recorded.into_iter().zip(CONTAINERS) {
        change(&mut request);
        let asked = request
            .container
            .as_ref()
            .expect("a container")
            .name
            .clone();
        let created = runtime
            .create_container(request.pod, request.container)
            .await;
        let created = created.unwrap_or_else(|refused| panic!("{version}, {name}: {refused}"));
        let Answer::Adjust(adjustment) = &created.asked[0].answer else {
            panic!("{version}, {name}: {}", created.asked[0].answer);
        };
        let injected = **adjustment != ContainerAdjustment::default();
        assert_eq!(
            injected,
            decision == "adjusted",
            "{version}, {name}: {adjustment:?}"
        );
        let logged = plugin
            .next_in_log(Duration::from_secs(10), plugin::decision)
            .await;
        let Decision {
            decision: is,
            reason: why,
            container,
            ..
        } = logged.unwrap_or_else(|| panic!("{version}, {name}: nothing in the log"));
        assert_eq!(
            (&*container, &*is, &*why),
            (&*asked, decision, reason),
            "{version}, {name}"
        );
    }
}

fn as_it_was(_request: &mut CreateContainerRequest) {}

#[tokio::test]
async fn containerd_1_7_is_answered_as_the_behaviour_says() {
    replay("1.7.24", as_it_was).await;
}

#[tokio::test]
async fn containerd_2_1_is_answered_as_the_behaviour_says() {
    replay("2.1.9", as_it_was).await;
}

#[tokio::test]
async fn containerd_2_2_is_answered_as_the_behaviour_says() {
    replay("2.2.7", as_it_was).await;
}

#[tokio::test]
async fn containerd_2_3_is_answered_as_the_behaviour_says() {
    replay("2.3.4", as_it_was).await;
}

#[tokio::test]
async fn a_redacted_recording_replays_to_the_same_decisions() {
    let mut redactor = Redactor::default();
    let redact = |request: &mut CreateContainerRequest| {
        redactor.pod(request.pod.as_mut().expect("a pod"));
        redactor.container(request.container.as_mut().expect("a container"));
    };
    replay("2.3.4", redact).await;
}
