//! The plugin outlives whatever the runtime does to its connection, and the next container is injected.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose runtime or plugin cannot start has nothing better to do"
)]

use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::pod::{Simulation, manifest, requests};
use fake_runtime::process::PluginProcess;
use fake_runtime::runtime::{Builder, Call, Created, Cut, FakeRuntime, Fault, Pace, Refused};
use mock_node::staging::{Devices, Overlay};
use nri_proto::api::CreateContainerRequest;
use tempfile::TempDir;

const POD: &str = "{kind: Pod, metadata: {name: p, annotations: {nvml-mock.nvidia.com/devices: 'true'}}, \
                   spec: {containers: [{name: main}]}}";

/// The plugin waits 10 s for a runtime that keeps silent.
const PATIENCE: Duration = Duration::from_secs(25);

/// A runtime, and the built plugin with a staged overlay.
struct Node {
    runtime: FakeRuntime,
    plugin: PluginProcess,
    _overlay: TempDir,
}

impl Node {
    /// One on which the plugin is registered.
    async fn start(builder: Builder) -> Self {
        let runtime = builder.start().await.unwrap();
        let node = Self::with(runtime);
        node.runtime.registrations(1).await.unwrap();
        node
    }

    fn with(runtime: FakeRuntime) -> Self {
        let overlay = tempfile::tempdir().unwrap();
        Overlay::default()
            .stage(overlay.path(), Devices::Links)
            .unwrap();
        let plugin = mock_node::plugin::command(env!("CARGO_BIN_EXE_nri-plugin"))
            .args([format!("--socket-path={}", runtime.socket_path().display())])
            .args(["--health-addr="])
            .args(Overlay::plugin_flags(overlay.path()))
            .spawn()
            .unwrap();
        Self {
            runtime,
            plugin,
            _overlay: overlay,
        }
    }

    /// Brings the fault about, and expects that the plugin comes through it.
    async fn survives(&self, fault: Fault) {
        let before = self.runtime.registration_count();
        fault.happen(&self.runtime).await.unwrap();
        if fault == Fault::Stop {
            self.runtime.restart().await.unwrap();
        }
        if fault.closes_connection() {
            self.runtime.registrations(before + 1).await.unwrap();
        }
        self.injects().await;
    }

    /// Expects that the plugin is given up by its own connection and then registers anew, and comes through it.
    async fn comes_back_after(&self, fault: Fault) {
        fault.happen(&self.runtime).await.unwrap();
        self.survives(Fault::Restart).await;
    }

    async fn injects(&self) {
        let CreateContainerRequest { pod, container } = request();
        is_injected(&self.runtime.create_container(pod, container).await);
        assert!(self.plugin.id().is_some());
    }
}

fn request() -> CreateContainerRequest {
    let pods = manifest::parse(POD).unwrap();
    requests(&pods[0], &Simulation::default())
        .unwrap()
        .remove(0)
}

fn is_injected(created: &Result<Created, Refused>) {
    match &created.as_ref().unwrap().asked[..] {
        [asked] => match &asked.answer {
            Answer::Adjust(adjustment) => assert_eq!(adjustment.mounts.len(), 2),
            other => panic!("the plugin {other}"),
        },
        asked => panic!("{} plugins were asked", asked.len()),
    }
}

fn builder() -> Builder {
    FakeRuntime::builder().patience(PATIENCE)
}

#[tokio::test]
async fn a_connection_cut_around_a_frame_is_made_again() {
    for cut in [Cut::BeforeFrame, Cut::WithinFrame, Cut::AfterFrame] {
        Node::start(builder()).await.survives(Fault::Cut(cut)).await;
    }
}

#[tokio::test]
async fn a_connection_cut_anywhere_in_a_frame_is_made_again() {
    let node = Node::start(builder().seed(7)).await;
    for _ in 0..20 {
        node.survives(Fault::Cut(Cut::WithinFrame)).await;
    }
}

#[tokio::test]
async fn a_half_closed_connection_is_made_again() {
    Node::start(builder())
        .await
        .survives(Fault::HalfClose)
        .await;
}

#[tokio::test]
async fn a_runtime_that_restarts_is_found_again() {
    let node = Node::start(builder()).await;
    for _ in 0..3 {
        node.survives(Fault::Restart).await;
    }
}

#[tokio::test]
async fn a_runtime_that_was_gone_is_found_again() {
    Node::start(builder()).await.survives(Fault::Stop).await;
}

#[tokio::test]
async fn frames_split_at_every_byte_are_put_together() {
    Node::start(builder())
        .await
        .comes_back_after(Fault::SplitAtEveryByte)
        .await;
}

#[tokio::test]
async fn frames_split_anywhere_are_put_together() {
    let node = Node::start(builder().seed(3)).await;
    for _ in 0..10 {
        node.comes_back_after(Fault::SplitAtRandom).await;
    }
}

#[tokio::test]
async fn frames_and_messages_of_an_unknown_kind_are_ignored() {
    let node = Node::start(builder()).await;
    for fault in [
        Fault::UnknownConnection,
        Fault::UnknownType,
        Fault::UnknownStream,
    ] {
        node.survives(fault).await;
    }
    assert_eq!(node.runtime.registration_count(), 1);
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented() {
    let node = Node::start(builder()).await;
    match node.runtime.unknown_method().await.unwrap() {
        Answer::Error { code, .. } => assert_eq!(code, "Unimplemented"),
        other => panic!("the plugin {other}"),
    }
    node.survives(Fault::UnknownMethod).await;
    assert_eq!(node.runtime.registration_count(), 1);
}

#[tokio::test]
async fn a_reused_stream_id_does_no_harm() {
    Node::start(builder())
        .await
        .survives(Fault::ReusedStream)
        .await;
}

#[tokio::test]
async fn a_frame_over_the_limit_costs_no_more_than_the_connection() {
    Node::start(builder())
        .await
        .survives(Fault::OversizedFrame)
        .await;
}

#[tokio::test]
async fn garbage_costs_no_more_than_the_connection() {
    let node = Node::start(builder().seed(11)).await;
    for _ in 0..20 {
        node.survives(Fault::Garbage).await;
    }
}

#[tokio::test]
async fn calls_that_come_late_are_waited_for() {
    let node = Node::start(builder()).await;
    for call in [Call::RegistrationAnswer, Call::Configure, Call::Synchronize] {
        node.comes_back_after(Fault::Delay { call, ms: 300 }).await;
    }
    node.survives(Fault::Delay {
        call: Call::CreateContainer,
        ms: 300,
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_read_slowly_arrives_whole() {
    let node = Node::start(builder()).await;
    node.survives(Fault::ReadSlowly { bytes: 64, ms: 2 }).await;
    node.injects().await;
    assert_eq!(node.runtime.registration_count(), 1);
}

#[tokio::test]
async fn an_answer_that_is_read_too_slowly_costs_one_container_and_no_more() {
    let node = Node::start(builder().request_timeout(Duration::from_millis(400))).await;
    node.runtime.read_slowly(Pace {
        bytes: 1,
        pause: Duration::from_millis(10),
    });
    let CreateContainerRequest { pod, container } = request();
    let created = node.runtime.create_container(pod, container).await.unwrap();
    assert!(matches!(created.asked[0].answer, Answer::Lost(_)));
    node.runtime.registrations(2).await.unwrap();
    node.injects().await;
}

#[tokio::test]
async fn two_requests_at_once_are_both_answered() {
    let node = Node::start(builder()).await;
    for created in node
        .runtime
        .create_two_at_once([request(), request()])
        .await
    {
        is_injected(&created);
    }
    node.injects().await;
}

#[tokio::test]
async fn configure_may_come_before_the_answer_to_the_registration() {
    let runtime = builder().start().await.unwrap();
    runtime.configure_first();
    let node = Node::with(runtime);
    node.runtime.registrations(1).await.unwrap();
    node.injects().await;
    node.comes_back_after(Fault::ConfigureFirst).await;
}

#[tokio::test]
async fn a_registration_that_is_never_answered_is_tried_again() {
    Node::start(builder())
        .await
        .comes_back_after(Fault::NeverAnswerRegistration)
        .await;
}

#[tokio::test]
async fn a_registration_that_configure_never_follows_is_tried_again() {
    Node::start(builder())
        .await
        .comes_back_after(Fault::NeverConfigure)
        .await;
}

#[tokio::test]
async fn a_first_registration_that_is_never_answered_ends_the_process() {
    let runtime = builder().start().await.unwrap();
    runtime.never_answer_registration();
    let mut node = Node::with(runtime);
    let exit = node.plugin.exited().await.unwrap();
    assert_eq!(exit.status.code(), Some(1));
    assert!(
        exit.stderr.starts_with("nri-plugin: ") && exit.stderr.lines().count() == 1,
        "{exit:?}"
    );
}
