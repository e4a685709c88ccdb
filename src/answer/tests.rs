use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};

use nri_proto::api;
use prost::Message;
use tokio::net::TcpListener;
use tracing::level_filters::LevelFilter;

use super::*;
use crate::config::{AgentUrl, StagingGate};
use crate::decide::{Entry, Node, NodeKind};
use crate::flags::Flags;
use crate::logging::{self, tests::Logged};
use crate::path::AbsolutePath;

const LONG: Duration = Duration::from_secs(60);
const DELIVERS_CDI: Runtime = Runtime { delivers_cdi: true };
const DEVICES: &str = "nvml-mock.nvidia.com/devices";

/// A host that does the same whatever it is asked.
struct Host<F>(F);

impl<F: Fn()> Staged for Host<F> {
    fn entries(&self, _directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        (self.0)();
        Ok(Vec::new())
    }

    fn node(&self, _path: &AbsolutePath) -> io::Result<Node> {
        (self.0)();
        Err(io::ErrorKind::NotFound.into())
    }

    fn char_drivers(&self, _major: u32) -> Vec<String> {
        (self.0)();
        Vec::new()
    }
}

/// A host whose file system hangs until the sender is dropped.
fn hung() -> (Sender<()>, Host<impl Fn() + Send + Sync>) {
    let (release, hang): (_, Receiver<()>) = channel();
    let hang = Mutex::new(hang);
    let until_released = move || {
        let _ = hang.lock().unwrap().recv();
    };
    (release, Host(until_released))
}

fn panicking() -> Host<impl Fn() + Send + Sync> {
    Host(|| panic!("as tested"))
}

struct Fixture<S> {
    answerer: Answerer<S>,
    metrics: Metrics,
    log: Logged,
}

fn fixture<S: Staged + Send + Sync + 'static>(staged: S, gate: Option<Gate>) -> Fixture<S> {
    let flags = Flags {
        compute_domain_staging: Some("true".into()),
        ..Flags::default()
    };
    fixture_of(flags, staged, gate)
}

fn fixture_of<S: Staged + Send + Sync + 'static>(
    flags: Flags,
    staged: S,
    gate: Option<Gate>,
) -> Fixture<S> {
    let config = Arc::new(Config::resolve(flags).unwrap());
    let metrics = Metrics::default();
    let health = Health::new(metrics.clone());
    let gate = gate.map(Arc::new);
    let answerer = Answerer::new(config, staged, gate, health, metrics.clone());
    Fixture {
        answerer,
        metrics,
        log: Logged::new(LevelFilter::DEBUG, logging::Format::Json),
    }
}

impl<S: Staged + Send + Sync + 'static> Fixture<S> {
    async fn ask(&self, payload: &[u8], patience: Duration) -> Result<Vec<u8>, String> {
        let answer = self
            .answerer
            .create_container(payload, patience, DELIVERS_CDI)
            .await;
        answer.map_err(|refusal| refusal.to_string())
    }

    fn assert_counted(&self, decision: &str, reason: &str) {
        let line =
            format!("nri_plugin_containers_total{{decision=\"{decision}\",reason=\"{reason}\"}} 1");
        let text = self.metrics.text();
        assert!(
            text.lines().any(|counted| counted == line),
            "no {line} in\n{text}"
        );
    }

    /// The fields of the only line of `level`, from `msg` on.
    fn only(&self, level: &str) -> String {
        let text = self.log.text();
        let begin = format!("{{\"level\":\"{level}\"");
        let lines: Vec<_> = text
            .lines()
            .filter(|line| line.starts_with(&begin))
            .collect();
        let [line] = lines[..] else {
            panic!("not one {level} line in\n{text}")
        };
        line[line.find("\"msg\"").unwrap()..].to_owned()
    }
}

fn request(annotation: &str, label: &str, container: &str) -> Vec<u8> {
    let pod = api::PodSandbox {
        name: "p".into(),
        namespace: "n".into(),
        annotations: [(annotation.to_owned(), "true".to_owned())].into(),
        labels: [(label.to_owned(), "domain".to_owned())].into(),
        ..Default::default()
    };
    let container = api::Container {
        name: container.into(),
        ..Default::default()
    };
    let request = api::CreateContainerRequest {
        pod: Some(pod),
        container: Some(container),
    };
    request.encode_to_vec()
}

fn annotated() -> Vec<u8> {
    request(DEVICES, "app", "c")
}

fn plain() -> Vec<u8> {
    request("other", "app", "c")
}

fn daemon() -> Vec<u8> {
    request(
        "other",
        "resource.nvidia.com/computeDomain",
        "compute-domain-daemon",
    )
}

/// A gate that is closed because its lock is not there.
fn closed_gate() -> Gate {
    gate(Path::new("/nowhere/lock"), 1)
}

fn gate(lock: &Path, port: u16) -> Gate {
    let url = AgentUrl {
        host: "127.0.0.1".into(),
        port,
        path: "/".into(),
    };
    Gate::new(&StagingGate {
        url,
        lock_path: AbsolutePath::new(lock.to_str().unwrap()).unwrap(),
    })
}

/// A node agent that says once that its tree is staged.
async fn staged(agent: TcpListener) {
    let (stream, _) = agent.accept().await.unwrap();
    stream.writable().await.unwrap();
    stream
        .try_write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        .unwrap();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_undecodable_request_leaves_the_container_as_it_is() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&[0xff; 64], LONG).await, Ok(Vec::new()));
    fixture.assert_counted("failed", "undecodable request");
    assert!(fixture.only("warn").contains("undecodable request: "));
}

#[tokio::test]
async fn a_request_without_pod_and_container_is_answered() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&[], LONG).await, Ok(Vec::new()));
    fixture.assert_counted("unmodified", "no GPU allocation and no opt-in annotation");
}

#[tokio::test]
async fn a_container_that_is_left_alone_reads_no_disk_and_asks_no_gate() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    assert_eq!(fixture.ask(&plain(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("unmodified", "no GPU allocation and no opt-in annotation");
    assert_eq!(
        fixture.only("debug"),
        concat!(
            r#""msg":"container decided","namespace":"n","pod":"p","container":"c","#,
            r#""decision":"unmodified","reason":"no GPU allocation and no opt-in annotation","#,
            r#""mounts":0,"env":0,"devices":0,"cdi_devices":0}"#
        )
    );
    assert_eq!(fixture.log.text().lines().count(), 1);
}

#[tokio::test]
async fn an_adjusted_container_is_counted_with_its_surfaces_and_logged() {
    let fixture = fixture(Host(|| ()), None);
    let answer = fixture.ask(&annotated(), LONG).await.unwrap();
    let adjust = api::CreateContainerResponse::decode(&*answer)
        .unwrap()
        .adjust
        .unwrap();
    assert_eq!(adjust.mounts.len(), 2);
    fixture.assert_counted("adjusted", "devices annotation");
    let text = fixture.metrics.text();
    assert!(
        text.contains("nri_plugin_surfaces_total{surface=\"gpu\"} 1\n"),
        "{text}"
    );
    let line = fixture.only("debug");
    assert!(line.contains(r#""decision":"adjusted","reason":"devices annotation","mounts":2"#));
}

#[tokio::test]
async fn what_a_container_goes_without_is_a_warning_with_its_names() {
    let fixture = fixture(Host(|| ()), None);
    let asked = request("nvml-mock.nvidia.com/imex-channels", "app", "c");
    assert_eq!(fixture.ask(&asked, LONG).await, Ok(Vec::new()));
    let line = fixture.only("warn");
    assert!(
        line.starts_with(r#""msg":"no mock IMEX channel in "#),
        "{line}"
    );
    assert!(
        line.ends_with(r#""namespace":"n","pod":"p","container":"c"}"#),
        "{line}"
    );
}

#[tokio::test]
async fn a_panic_while_the_disk_is_read_leaves_the_container_as_it_is() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&annotated(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("failed", "panic");
    assert_eq!(
        fixture.only("warn"),
        concat!(
            r#""msg":"no decision, container left unmodified","namespace":"n","pod":"p","#,
            r#""container":"c","reason":"panic: as tested"}"#
        )
    );
    assert_eq!(fixture.metrics.requests_in_flight.get(), 0);
}

// containerd/nri#114: one answer that takes longer than the runtime waits gets the plugin closed for good.
#[tokio::test]
async fn containerd_nri_114_a_hung_file_system_is_answered_for_before_the_runtime_gives_up() {
    let (release, host) = hung();
    let fixture = fixture(host, None);
    let patience = Duration::from_millis(100);
    let begun = Instant::now();
    let answer = tokio::time::timeout(LONG, fixture.ask(&annotated(), patience)).await;
    assert_eq!(answer, Ok(Ok(Vec::new())));
    assert!(begun.elapsed() >= patience * 4 / 5);
    fixture.assert_counted("failed", "file system did not answer");

    // What hangs is still in flight: that is what /healthz looks for.
    assert_eq!(fixture.metrics.requests_in_flight.get(), 1);
    let later = Instant::now() + LONG;
    assert!(fixture.answerer.health().check_wedged(later).is_err());
    drop(release);
    while fixture.metrics.requests_in_flight.get() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(fixture.answerer.health().check_wedged(later).is_ok());
}

#[tokio::test]
async fn a_hung_file_system_silences_no_container_that_needs_none() {
    let (_release, host) = hung();
    let fixture = fixture(host, None);
    for _ in 0..2 * MAX_DECIDING {
        let answer = fixture.ask(&annotated(), Duration::from_millis(1)).await;
        assert_eq!(answer, Ok(Vec::new()));
    }
    assert_eq!(fixture.ask(&plain(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("unmodified", "no GPU allocation and no opt-in annotation");
}

#[tokio::test]
async fn a_compute_domain_daemon_is_refused_when_the_file_system_hangs() {
    let (_release, host) = hung();
    let fixture = fixture(host, None);
    let refusal = fixture
        .ask(&daemon(), Duration::from_millis(10))
        .await
        .unwrap_err();
    assert_eq!(
        refusal,
        "compute domain daemon is not staged yet: the host's file system did not answer within 8ms"
    );
}

#[tokio::test]
async fn a_closed_gate_leaves_the_container_as_it_is_and_says_why() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    assert_eq!(fixture.ask(&annotated(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("gated", "staging lock unavailable");
    assert_eq!(
        fixture.only("warn"),
        concat!(
            r#""msg":"staging gate closed, container left unmodified","namespace":"n","pod":"p","#,
            r#""container":"c","reason":"staging lock unavailable: /nowhere/lock: "#,
            r#"No such file or directory (os error 2)"}"#
        )
    );
}

#[tokio::test]
async fn a_required_overlay_that_is_not_staged_is_warned_of() {
    let flags = Flags {
        feature_gates: Some("RequireStagedOverlay=true".into()),
        ..Flags::default()
    };
    let fixture = fixture_of(flags, Host(|| ()), None);
    assert_eq!(fixture.ask(&annotated(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("unmodified", "overlay not staged");
    assert_eq!(
        fixture.only("warn"),
        concat!(
            r#""msg":"overlay is required, container left unmodified","namespace":"n","pod":"p","#,
            r#""container":"c","reason":"overlay not staged"}"#
        )
    );
}

#[tokio::test]
async fn an_agent_that_is_silent_for_as_long_as_the_runtime_waits_closes_the_gate() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    // The kernel accepts, nobody answers.
    let agent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    let fixture = fixture(panicking(), Some(gate));
    let patience = Duration::from_millis(200);
    assert_eq!(fixture.ask(&annotated(), patience).await, Ok(Vec::new()));
    fixture.assert_counted("gated", "node agent unreachable");
    let line = fixture.only("warn");
    assert!(
        line.contains(r#""reason":"node agent unreachable: no answer within 1"#),
        "{line}"
    );
}

#[tokio::test]
async fn the_file_system_is_given_what_the_gate_left_of_the_time() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    tokio::spawn(staged(agent));
    let (_release, host) = hung();
    let fixture = fixture(host, Some(gate));
    let patience = Duration::from_millis(500);
    assert_eq!(fixture.ask(&annotated(), patience).await, Ok(Vec::new()));
    fixture.assert_counted("failed", "file system did not answer");
    let line = fixture.only("warn");
    let (_, left) = line.split_once("did not answer within ").unwrap();
    let (left, _) = left.split_once("ms").unwrap();
    assert!(left.parse::<u32>().unwrap() < 400, "{line}");
}

#[tokio::test]
async fn a_compute_domain_daemon_is_refused_behind_a_closed_gate() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    let refusal = fixture.ask(&daemon(), LONG).await.unwrap_err();
    assert!(refusal.contains("staging lock unavailable"), "{refusal}");
    fixture.assert_counted("refused", "staging gate closed");
}

#[tokio::test]
async fn the_lock_is_held_while_the_tree_is_read_and_no_longer() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    tokio::spawn(staged(agent));
    let stager = File::open(lock.path()).unwrap();
    let other = stager.try_clone().unwrap();
    let read_under_lock = move || {
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
    };
    let fixture = fixture(Host(read_under_lock), Some(gate));
    assert!(!fixture.ask(&annotated(), LONG).await.unwrap().is_empty());
    stager.try_lock().unwrap();
}

#[test]
fn a_panic_outside_of_the_decision_leaves_the_container_as_it_is() {
    let fixture = fixture(Host(|| ()), None);
    let request = annotated();
    // Without a tokio runtime there is no thread for the disk, and asking for one panics.
    let answer = pin!(fixture.ask(&request, LONG)).poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(answer, Poll::Ready(Ok(Vec::new())));
    fixture.assert_counted("failed", "panic");
    assert_eq!(fixture.metrics.requests_in_flight.get(), 0);
}

/// A host on which everything is a directory of very many devices.
struct Crowded;

impl Staged for Crowded {
    fn entries(&self, _directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        let entry = |number: u32| Entry {
            name: format!("nvidia{number}"),
            is_directory: false,
        };
        Ok((0..100_000).map(entry).collect())
    }

    fn node(&self, _path: &AbsolutePath) -> io::Result<Node> {
        let kind = NodeKind::CharDevice { major: 1, minor: 3 };
        Ok(Node {
            kind,
            mode: 0o666,
            uid: 0,
            gid: 0,
        })
    }

    fn char_drivers(&self, _major: u32) -> Vec<String> {
        Vec::new()
    }
}

#[tokio::test]
async fn an_adjustment_that_no_message_can_hold_leaves_the_container_as_it_is() {
    let fixture = fixture(Crowded, None);
    assert_eq!(fixture.ask(&annotated(), LONG).await, Ok(Vec::new()));
    fixture.assert_counted("failed", "adjustment too large");
}
