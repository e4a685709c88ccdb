use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nri_proto::api;
use nri_stub::Answer;
use prost::Message;
use tracing::level_filters::LevelFilter;

use super::*;
use crate::config::{AgentUrl, StagingGate};
use crate::decide::{CdiNode, Entry, Node, NodeKind};
use crate::flags::Flags;
use crate::logging::{self, tests::Logged};
use crate::path::AbsolutePath;

const LONG: Duration = Duration::from_secs(60);
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

    fn cdi_nodes(
        &self,
        _specification: &AbsolutePath,
        _name: &str,
        _overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        (self.0)();
        Err(String::new())
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        (self.0)();
        Arc::default()
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
    answerer: Arc<Answerer<S>>,
    health: Arc<Health>,
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
    let answerer = Answerer::new(config, staged, gate, health.clone(), metrics.clone());
    Fixture {
        answerer: Arc::new(answerer),
        health,
        metrics,
        log: Logged::new(LevelFilter::DEBUG, logging::Format::Json),
    }
}

impl<S: Staged + Send + Sync + 'static> Fixture<S> {
    /// Asks as the stub does: what does not answer in time, or waits, is answered for at the deadline.
    fn ask(&self, payload: &[u8], patience: Duration) -> Result<Vec<u8>, String> {
        let (began, begun) = channel();
        let request = Request {
            began: Some(began),
            ..Request::new(payload, patience * 4 / 5)
        };
        let request = Arc::new(request);
        let (answerer, asking) = (Arc::clone(&self.answerer), Arc::clone(&request));
        let (sender, reply) = channel();
        let log = tracing::dispatcher::get_default(tracing::Dispatch::clone);
        thread::spawn(move || {
            tracing::dispatcher::with_default(&log, || {
                let _ = sender.send(answerer.create_container(&*asking, Runtime::UNKNOWN));
                asking.begins();
            });
        });
        // However busy the machine, the handler has said what to answer at the deadline, or answered.
        begun.recv().unwrap();
        let left = || request.deadline.saturating_duration_since(Instant::now());
        let mut replied = reply.recv_timeout(left()).ok();
        if replied == Some(Reply::Wait) {
            thread::sleep(left());
        }
        if request.claim() {
            let late = request.late.lock().unwrap().take();
            replied = Some(Reply::Answer(late.unwrap()()));
        }
        let replied = replied.unwrap_or_else(|| reply.recv().unwrap());
        drop(request.late.lock().unwrap().take());
        match replied {
            Reply::Answer(answer) => answer.map_err(|status| status.message),
            other => panic!("{other:?}"),
        }
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

/// Waits for what nothing tells of.
fn until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < LONG, "it never came");
        thread::yield_now();
    }
}

/// A request as the stub asks it.
struct Request {
    payload: Vec<u8>,
    came: Instant,
    deadline: Instant,
    late: Mutex<Option<Box<dyn FnOnce() -> Answer + Send>>>,
    claimed: AtomicBool,
    may_block: fn() -> bool,
    /// Told once the handler waits for something, or has answered.
    began: Option<Sender<()>>,
}

impl Request {
    fn new(payload: &[u8], budget: Duration) -> Self {
        let came = Instant::now();
        Self {
            payload: payload.to_vec(),
            came,
            deadline: came + budget,
            late: Mutex::default(),
            claimed: AtomicBool::new(false),
            may_block: || true,
            began: None,
        }
    }

    fn begins(&self) {
        if let Some(began) = &self.began {
            // It is told so twice where the handler waited, and then answered.
            let _ = began.send(());
        }
    }
}

impl Asking for Request {
    fn payload(&self) -> &[u8] {
        &self.payload
    }

    fn came(&self) -> Instant {
        self.came
    }

    fn deadline(&self) -> Option<Instant> {
        Some(self.deadline)
    }

    fn when_late(&self, answer: impl FnOnce() -> Answer + Send + 'static) {
        *self.late.lock().unwrap() = Some(Box::new(answer));
        self.begins();
    }

    fn is_open(&self) -> bool {
        !self.claimed.load(Ordering::SeqCst)
    }

    fn may_block(&self) -> bool {
        (self.may_block)()
    }

    fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::SeqCst)
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
fn staged(agent: TcpListener) {
    thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in agent.incoming() {
            let mut stream = stream.unwrap();
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                .unwrap();
            kept.push(stream);
        }
    });
}

#[test]
fn an_undecodable_request_leaves_the_container_as_it_is() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&[0xff; 64], LONG), Ok(Vec::new()));
    fixture.assert_counted("failed", "undecodable request");
    assert!(fixture.only("warn").contains("undecodable request: "));
}

#[test]
fn a_request_without_pod_and_container_is_answered() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&[], LONG), Ok(Vec::new()));
    fixture.assert_counted("unmodified", "no GPU allocation and no opt-in annotation");
}

#[test]
fn a_container_that_is_left_alone_reads_no_disk_and_asks_no_gate() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    assert_eq!(fixture.ask(&plain(), LONG), Ok(Vec::new()));
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

#[test]
fn an_adjusted_container_is_counted_with_its_surfaces_and_logged() {
    let fixture = fixture(Host(|| ()), None);
    let answer = fixture.ask(&annotated(), LONG).unwrap();
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

#[test]
fn what_a_container_goes_without_is_a_warning_with_its_names() {
    let fixture = fixture(Host(|| ()), None);
    let asked = request("nvml-mock.nvidia.com/imex-channels", "app", "c");
    assert_eq!(fixture.ask(&asked, LONG), Ok(Vec::new()));
    let line = fixture.only("warn");
    let expected = concat!(
        r#""msg":"no mock IMEX channel","namespace":"n","pod":"p","container":"c","#,
        r#""path":"/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels","#,
        r#""cause":"nothing there is named channel*"}"#
    );
    assert_eq!(line, expected);
}

#[test]
fn a_panic_while_the_disk_is_read_leaves_the_container_as_it_is() {
    let fixture = fixture(panicking(), None);
    assert_eq!(fixture.ask(&annotated(), LONG), Ok(Vec::new()));
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
#[test]
fn containerd_nri_114_a_hung_file_system_is_answered_for_before_the_runtime_gives_up() {
    let (release, host) = hung();
    let fixture = fixture(host, None);
    let patience = Duration::from_millis(100);
    let begun = Instant::now();
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    assert!(begun.elapsed() >= patience * 4 / 5);
    fixture.assert_counted("failed", "file system did not answer");

    // What hangs is still in flight: that is what /healthz looks for.
    assert_eq!(fixture.metrics.requests_in_flight.get(), 1);
    let later = Instant::now() + LONG;
    assert!(fixture.health.check_wedged(later).is_err());
    drop(release);
    until(|| fixture.metrics.requests_in_flight.get() == 0);
    assert!(fixture.health.check_wedged(later).is_ok());
}

#[test]
fn a_hung_file_system_silences_no_container_that_needs_none() {
    let (_release, host) = hung();
    let fixture = fixture(host, None);
    for _ in 0..8 {
        let answer = fixture.ask(&annotated(), Duration::from_millis(1));
        assert_eq!(answer, Ok(Vec::new()));
    }
    assert_eq!(fixture.ask(&plain(), LONG), Ok(Vec::new()));
    fixture.assert_counted("unmodified", "no GPU allocation and no opt-in annotation");
}

#[test]
fn a_compute_domain_daemon_is_refused_when_the_file_system_hangs() {
    let (_release, host) = hung();
    let fixture = fixture(host, None);
    let refusal = fixture
        .ask(&daemon(), Duration::from_millis(10))
        .unwrap_err();
    assert_eq!(
        refusal,
        "compute domain daemon is not staged yet: the host's file system did not answer within 8ms"
    );
}

#[test]
fn a_closed_gate_leaves_the_container_as_it_is_and_says_why() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    assert_eq!(fixture.ask(&annotated(), LONG), Ok(Vec::new()));
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

#[test]
fn a_required_overlay_that_is_not_staged_is_warned_of() {
    let flags = Flags {
        feature_gates: Some("RequireStagedOverlay=true".into()),
        ..Flags::default()
    };
    let fixture = fixture_of(flags, Host(|| ()), None);
    assert_eq!(fixture.ask(&annotated(), LONG), Ok(Vec::new()));
    fixture.assert_counted("unmodified", "overlay not staged");
    assert_eq!(
        fixture.only("warn"),
        concat!(
            r#""msg":"overlay is required, container left unmodified","namespace":"n","pod":"p","#,
            r#""container":"c","reason":"overlay not staged"}"#
        )
    );
}

#[test]
fn an_agent_that_is_silent_for_as_long_as_the_runtime_waits_closes_the_gate() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    // The kernel accepts, nobody answers.
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    let fixture = fixture(panicking(), Some(gate));
    let patience = Duration::from_millis(200);
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    fixture.assert_counted("gated", "node agent unreachable");
    let line = fixture.only("warn");
    let told = r#""reason":"node agent unreachable: no answer within "#;
    let within = line
        .split_once(told)
        .and_then(|(_, rest)| rest.split_once("ms"));
    // An eighth less than four fifths of it, and less still on a busy machine; not the half second of a patient one.
    let within: u64 = within
        .unwrap_or_else(|| panic!("{line}"))
        .0
        .parse()
        .unwrap();
    assert!(within <= 140, "{line}");
}

#[test]
fn the_file_system_is_given_what_the_gate_left_of_the_time() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    staged(agent);
    let (_release, host) = hung();
    let fixture = fixture(host, Some(gate));
    let patience = Duration::from_secs(2);
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    fixture.assert_counted("failed", "file system did not answer");
    let line = fixture.only("warn");
    let (_, left) = line.split_once("did not answer within ").unwrap();
    let (left, _) = left.split_once("ms").unwrap();
    assert!(left.parse::<u32>().unwrap() < 1600, "{line}");
}

#[test]
fn a_compute_domain_daemon_is_refused_behind_a_closed_gate() {
    let fixture = fixture(panicking(), Some(closed_gate()));
    let refusal = fixture.ask(&daemon(), LONG).unwrap_err();
    assert!(refusal.contains("staging lock unavailable"), "{refusal}");
    fixture.assert_counted("refused", "staging gate closed");
}

#[test]
fn the_lock_is_held_while_the_tree_is_read_and_no_longer() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    staged(agent);
    let stager = File::open(lock.path()).unwrap();
    let other = stager.try_clone().unwrap();
    let read_under_lock = move || {
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
    };
    let fixture = fixture(Host(read_under_lock), Some(gate));
    assert!(!fixture.ask(&annotated(), LONG).unwrap().is_empty());
    stager.try_lock().unwrap();
}

#[test]
fn the_lock_is_let_go_of_with_the_answer_although_the_file_system_hangs() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    staged(agent);
    let (_release, host) = hung();
    let fixture = fixture(host, Some(gate));
    let patience = Duration::from_secs(2);
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    fixture.assert_counted("failed", "file system did not answer");
    locked(lock.path());
}

/// Waits until the node agent has its lock.
fn locked(lock: &Path) {
    let stager = File::open(lock).unwrap();
    let (locked, is_locked) = channel();
    thread::spawn(move || locked.send(stager.lock()));
    is_locked.recv_timeout(LONG).unwrap().unwrap();
}

#[test]
fn who_waits_for_another_request_does_not_keep_the_lock() {
    let lock = tempfile::NamedTempFile::new().unwrap();
    let agent = TcpListener::bind("127.0.0.1:0").unwrap();
    let gate = gate(lock.path(), agent.local_addr().unwrap().port());
    staged(agent);
    let (_release, host) = hung();
    let fixture = fixture(host, Some(gate));
    // It hangs on, and has let go of the lock.
    assert_eq!(
        fixture.ask(&annotated(), Duration::from_secs(2)),
        Ok(Vec::new())
    );
    let waits = Request::new(&annotated(), LONG);
    let reply = fixture.answerer.create_container(&waits, Runtime::UNKNOWN);
    assert_eq!(reply, Reply::Wait);
    locked(lock.path());
}

#[test]
fn who_looks_where_another_request_hangs_does_not_hang_as_well() {
    let (_release, host) = hung();
    let fixture = fixture(host, None);
    let patience = Duration::from_millis(20);
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    for _ in 0..3 {
        assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    }
    // The others let their threads go.
    until(|| fixture.metrics.requests_in_flight.get() == 1);
}

#[test]
fn the_disk_is_in_doubt_from_a_container_left_alone_until_it_is_read_again() {
    let (release, host) = hung();
    let fixture = fixture(host, None);
    let in_doubt = || fixture.health.check_disk(Instant::now()).is_err();
    assert!(!in_doubt());
    let patience = Duration::from_millis(20);
    assert_eq!(fixture.ask(&annotated(), patience), Ok(Vec::new()));
    assert!(in_doubt());
    drop(release);
    until(|| fixture.metrics.requests_in_flight.get() == 0);
    until(|| !in_doubt());
}

#[test]
fn a_panic_outside_of_the_decision_leaves_the_container_as_it_is() {
    let fixture = fixture(Host(|| ()), None);
    let request = Request {
        may_block: || panic!("as tested"),
        ..Request::new(&annotated(), LONG)
    };
    let reply = fixture
        .answerer
        .create_container(&request, Runtime::UNKNOWN);
    assert_eq!(reply, Reply::Answer(Ok(Vec::new())));
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
        Ok((0..200_000).map(entry).collect())
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

    fn cdi_nodes(
        &self,
        _specification: &AbsolutePath,
        _name: &str,
        _overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        Err(String::new())
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        Arc::default()
    }
}

#[test]
fn an_adjustment_that_no_message_can_hold_leaves_the_container_as_it_is() {
    let fixture = fixture(Crowded, None);
    assert_eq!(fixture.ask(&annotated(), LONG), Ok(Vec::new()));
    fixture.assert_counted("failed", "adjustment too large");
}
