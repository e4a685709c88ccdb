//! The probes over real sockets.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fuse_mount::{Entry, Mount};
use nri_plugin::config::{AgentUrl, HealthAddr, StagingGate};
use nri_plugin::gate::Gate;
use nri_plugin::health::Health;
use nri_plugin::metrics::Metrics;
use nri_plugin::path::AbsolutePath;
use nri_plugin::probes::{self, Probed, SharedGate};

/// Probes on a free port, and the state behind them.
struct Served {
    address: SocketAddr,
    health: Arc<Health>,
}

fn serve(gate: Option<Gate>) -> Served {
    serve_on(listen(), gate)
}

fn listen() -> TcpListener {
    let address = HealthAddr {
        host: "127.0.0.1".into(),
        port: 0,
    };
    probes::listen(&address).unwrap()
}

fn serve_on(listener: TcpListener, gate: Option<Gate>) -> Served {
    let metrics = Metrics::default();
    let health = Health::new(metrics.clone());
    let probed = Probed {
        health: Arc::clone(&health),
        gate: gate.map(Arc::new).map(SharedGate::new),
        metrics,
    };
    Served {
        address: probes::serve(listener, probed).unwrap(),
        health,
    }
}

impl Served {
    /// Status line, header lines and body of the response.
    fn request(&self, method: &str, path: &str) -> (String, Vec<String>, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: probes\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let mut lines = head.lines().map(str::to_owned);
        (lines.next().unwrap(), lines.collect(), body.to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (status, _, body) = self.request("GET", path);
        (status.split(' ').nth(1).unwrap().parse().unwrap(), body)
    }
}

const OK: &str = r#"{"ok":true}"#;
const UNREGISTERED: &str = concat!(
    r#"{"ok":false,"reason":"not registered with the container runtime; "#,
    r#"new containers are not being injected"}"#
);

/// A gate with a node agent at this port of the loopback interface.
fn gate(lock: &Path, port: u16) -> Gate {
    let url = AgentUrl {
        host: "127.0.0.1".into(),
        port,
        path: "/stagedz".into(),
    };
    let lock_path = AbsolutePath::new(lock.to_str().unwrap()).unwrap();
    Gate::new(&StagingGate { url, lock_path })
}

/// A node agent that says after `delay` that its tree is staged. Returns its port, and when it was asked.
fn slow_agent(delay: Duration) -> (u16, mpsc::Receiver<Instant>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (ask, asked) = mpsc::channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // Who asked, or who looks at it, may have gone.
            let _ = ask.send(Instant::now());
            thread::spawn(move || {
                thread::sleep(delay);
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            });
        }
    });
    (port, asked)
}

/// Waits until it is so.
fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        thread::yield_now();
    }
}

#[test]
fn probes_that_come_all_at_once_are_all_answered() {
    let listener = listen();
    let address = listener.local_addr().unwrap();
    // Twice as many as are served at once, and all of them there before the first is accepted.
    let clients: Vec<_> = (0..128)
        .map(|_| {
            let mut client = TcpStream::connect(address).unwrap();
            write!(client, "GET /healthz HTTP/1.1\r\nhost: probes\r\n\r\n").unwrap();
            client
        })
        .collect();
    let _served = serve_on(listener, None);
    for mut client in clients {
        let mut response = String::new();
        client.read_to_string(&mut response).unwrap();
        assert!(response.ends_with(OK), "{response:?}");
    }
}

#[test]
fn k8s_test_infra_434_readyz_follows_the_registration() {
    let served = serve(None);
    assert_eq!(served.get("/readyz"), (503, UNREGISTERED.into()));
    served.health.registered(2000);
    assert_eq!(served.get("/readyz"), (200, OK.into()));
    served.health.unregistered();
    assert_eq!(served.get("/readyz"), (503, UNREGISTERED.into()));
}

#[test]
fn healthz_does_not_care_for_the_registration() {
    assert_eq!(serve(None).get("/healthz"), (200, OK.into()));
}

#[test]
fn k8s_test_infra_434_a_wedged_request_fails_both_probes_until_it_ends() {
    let served = serve(None);
    served.health.registered(1);
    let ticket = served.health.begin();
    // It is wedged 2 ms from now.
    let (status, body) = loop {
        let told = served.get("/healthz");
        if told.0 != 200 {
            break told;
        }
    };
    assert_eq!(status, 503);
    let age = body
        .strip_prefix(
            r#"{"ok":false,"reason":"wedged: a container request has been in flight for "#,
        )
        .and_then(|rest| rest.strip_suffix(r#"ms, past the 2ms threshold"}"#));
    assert!(age.is_some_and(|age| age.parse::<u32>().is_ok()), "{body}");
    assert_eq!(served.get("/readyz").0, 503);
    drop(ticket);
    assert_eq!(served.get("/healthz"), (200, OK.into()));
    assert_eq!(served.get("/readyz"), (200, OK.into()));
}

#[test]
fn readyz_asks_the_staging_gate() {
    let served = serve(Some(gate(Path::new("/nowhere/staging.lock"), 1)));
    assert_eq!(served.get("/readyz"), (503, UNREGISTERED.into()));
    served.health.registered(2000);
    let reason = concat!(
        r#"{"ok":false,"reason":"not injecting new containers: staging lock unavailable: "#,
        r#"/nowhere/staging.lock: No such file or directory (os error 2)"}"#
    );
    assert_eq!(served.get("/readyz"), (503, reason.into()));
    assert_eq!(served.get("/healthz"), (200, OK.into()));
}

#[test]
fn readyz_tells_the_worst_reason_first() {
    let served = serve(Some(gate(Path::new("/nowhere/staging.lock"), 1)));
    served.health.registered(1);
    let _ticket = served.health.begin();
    // It is wedged 2 ms from now.
    while served.get("/healthz").0 == 200 {}
    let (_, body) = served.get("/readyz");
    assert!(body.contains("wedged: "), "{body}");
    served.health.unregistered();
    assert_eq!(served.get("/readyz"), (503, UNREGISTERED.into()));
}

#[test]
#[ignore = "needs root and FUSE: ci/test has them"]
fn a_lock_on_a_hung_mount_silences_no_probe_and_costs_one_thread() {
    let mount = Mount::new([("lock", Entry::File)]);
    mount.hang("lock");
    let served = serve(Some(gate(&mount.path().join("lock"), 1)));
    served.health.registered(2000);
    for _ in 0..3 {
        let (status, body) = served.get("/readyz");
        assert_eq!(status, 503);
        assert!(body.contains("staging lock unavailable"), "{body}");
        assert_eq!(served.get("/healthz"), (200, OK.into()));
    }
    assert_eq!(mount.held(), 1);
    mount.release();
    until(|| served.get("/readyz").1.contains("node agent unreachable"));
}

#[test]
fn probes_do_not_keep_the_node_agent_from_its_lock() {
    let dir = tempfile::tempdir().unwrap();
    let lock = dir.path().join("staging.lock");
    File::create(&lock).unwrap();
    let delay = Duration::from_millis(20);
    let (port, asked) = slow_agent(delay);
    let served = serve(Some(gate(&lock, port)));
    served.health.registered(2000);
    assert_eq!(served.get("/readyz"), (200, OK.into()));
    let (answered, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let longest = thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    served.get("/readyz");
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        until(|| answered.load(Ordering::Relaxed) >= 64);
        let stager = File::open(&lock).unwrap();
        let wait = || {
            until(|| stager.try_lock().is_err() || stager.unlock().is_err());
            let begun = Instant::now();
            stager.lock().unwrap();
            stager.unlock().unwrap();
            begun.elapsed()
        };
        let longest = (0..10).map(|_| wait()).max().unwrap();
        done.store(true, Ordering::Relaxed);
        longest
    });
    println!("the agent waited {longest:?} at most");
    assert!(longest < Duration::from_secs(5), "{longest:?}");
    let asked: Vec<Instant> = asked.try_iter().collect();
    let between = asked.windows(2).map(|two| two[1] - two[0]);
    let shortest = between.min().unwrap();
    // For the node agent's answer the lock is held, and then left alone for as long as that answer serves.
    assert!(
        shortest >= delay + Duration::from_millis(100),
        "{shortest:?}"
    );
}

#[test]
fn metrics_are_prometheus_text() {
    let (status, headers, body) = serve(None).request("GET", "/metrics");
    assert_eq!(status, "HTTP/1.1 200 OK");
    let content_type = "content-type: text/plain; version=0.0.4; charset=utf-8";
    assert!(
        headers.iter().any(|header| header == content_type),
        "{headers:?}"
    );
    assert!(body.contains("\nnri_plugin_registered 0\n"), "{body}");
}

#[test]
fn head_is_get_without_the_body() {
    let served = serve(None);
    let (status, headers, body) = served.request("HEAD", "/healthz");
    assert_eq!((status.as_str(), body.as_str()), ("HTTP/1.1 200 OK", ""));
    assert!(
        headers.contains(&"content-length: 11".to_owned()),
        "{headers:?}"
    );
    assert!(
        headers.contains(&"content-type: application/json".to_owned()),
        "{headers:?}"
    );
    assert_eq!(
        served.request("HEAD", "/readyz").0,
        "HTTP/1.1 503 Service Unavailable"
    );
}

#[test]
fn other_methods_are_not_allowed() {
    let served = serve(None);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let (status, headers, _) = served.request(method, "/healthz");
        assert_eq!(status, "HTTP/1.1 405 Method Not Allowed");
        assert!(
            headers.contains(&"allow: GET, HEAD".to_owned()),
            "{headers:?}"
        );
    }
}

#[test]
fn other_paths_are_not_found() {
    let served = serve(None);
    for path in ["/", "/healthz/", "/HEALTHZ", "/livez"] {
        assert_eq!(served.get(path).0, 404);
    }
    assert_eq!(served.get("/healthz?verbose").0, 200);
}

#[test]
fn clients_that_send_nothing_keep_no_probe_out() {
    let served = serve(None);
    let _idle: Vec<_> = (0..200)
        .map(|_| TcpStream::connect(served.address).unwrap())
        .collect();
    assert_eq!(served.get("/healthz"), (200, OK.into()));
}
