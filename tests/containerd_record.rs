//! What was recorded from real containerd, replayed, gives what the live run gave.

use Containerd::{V1_7, V2};
use containerd_tests::surfaces::{DEVICES, IMEX_CHANNELS, INFINIBAND, OPT_OUT};
use containerd_tests::{ContainerSpec, Containerd, Node, Plugin, PodSpec, Recorder};
use fake_runtime::host::Host;
use fake_runtime::pod::Simulation;
use fake_runtime::profile::Profile;
use fake_runtime::requests::{self, Requests};
use fake_runtime::runtime::FakeRuntime;
use pretty_assertions::assert_eq;
use rstest::rstest;

/// Containers that get something, and one that does not.
fn pods() -> Vec<PodSpec> {
    vec![
        PodSpec::new("plain"),
        PodSpec::new("annotated").annotation(DEVICES, "true"),
        PodSpec::new("opted-out")
            .annotation(DEVICES, "true")
            .annotation(OPT_OUT, "false"),
        PodSpec::new("infiniband").annotation(INFINIBAND, "true"),
        PodSpec::new("imex").annotation(IMEX_CHANNELS, "true"),
    ]
}

#[rstest]
#[tokio::test]
async fn a_recording_replays_to_the_adjustments_of_the_live_run(
    #[values(V1_7, V2)] containerd: Containerd,
) {
    let node = Node::start(containerd).await;
    let first = Recorder::start("05", &node).await;
    let _plugin = Plugin::start(&node, &[]).await;
    let last = Recorder::start("95", &node).await;
    for pod in pods() {
        let pod = node.run_pod(pod).await;
        pod.create(ContainerSpec::new("main"))
            .await
            .expect("is created");
    }

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("requests.jsonl");
    std::fs::write(&file, first.recording()).unwrap();
    let Requests { profile, requests } = requests::read(&file, &Simulation::default()).unwrap();
    let version = node.containerd_version().await;
    assert_eq!(
        profile.name,
        Profile::find(&version).unwrap().name,
        "as recorded"
    );
    assert_eq!(requests.len(), pods().len());

    let fake = FakeRuntime::builder()
        .profile(profile)
        .host(Host::with_cdi_dirs(&[node.overlay().join("cdi")]))
        .start()
        .await
        .unwrap();
    let _same_plugin = Plugin::launch_at(fake.socket_path(), &node.overlay(), &[]);
    fake.registrations(1).await.unwrap();
    let replayed = Recorder::connect("95", fake.socket_path()).await;
    fake.registrations(2).await.unwrap();
    for request in requests {
        fake.create_container(request.pod, request.container)
            .await
            .unwrap();
    }

    // What comes after the plugin is asked about shows every adjustment, as each runtime took it.
    let json = |recorder: &Recorder| {
        let requests = serde_json::to_value(recorder.containers()).unwrap();
        format!("{requests:#}")
    };
    assert_eq!(json(&replayed), json(&last));
}
