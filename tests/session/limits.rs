//! How long a runtime is waited for. The limits are shorter than a plugin's own, in the same proportions.

use std::time::{Duration, Instant};

use fake_runtime::runtime::FakeRuntime;
use nri_plugin::decide::Staged;
use nri_plugin::host::Host;
use nri_proto::wire::Request;
use nri_stub::Limits;

use crate::in_process::InProcess;
use crate::plugin::soon;
use crate::raw_runtime::{Connection, RawRuntime};

/// How long the runtime is waited for at each step of a registration, in place of 10 s.
const LIMIT: Duration = Duration::from_secs(1);

fn start(runtime: &RawRuntime, staged: impl Staged + Send + Sync + 'static) -> InProcess {
    let limits = Limits {
        registration: LIMIT,
        ..Limits::default()
    };
    InProcess::start_with(runtime.socket_path(), staged, limits)
}

/// Accepts a connection, and keeps its registration: dropping that would be an answer.
async fn silent(runtime: &RawRuntime) -> (Connection, Request) {
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    (connection, registration)
}

/// A step that began at `begun` must have been waited for until just now.
fn assert_waited(begun: Instant) {
    let waited = begun.elapsed();
    assert!((LIMIT..2 * LIMIT).contains(&waited), "{waited:?}");
}

#[test]
fn a_runtime_is_given_10_s_at_each_step_of_a_registration() {
    assert_eq!(Limits::default().registration, Duration::from_secs(10));
}

// containerd/nri#292: the plugin gave up before a busy runtime answered, and its error hid the cause.
#[tokio::test]
async fn containerd_nri_292_a_runtime_that_is_busy_for_8_s_gets_its_plugin() {
    let runtime = RawRuntime::listen();
    let plugin = start(&runtime, Host::new());
    tokio::time::sleep(LIMIT * 8 / 10).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    assert!(!plugin.session.is_finished());
}

#[tokio::test]
async fn containerd_nri_292_a_first_registration_that_is_never_answered_is_an_error_that_tells_how_long()
 {
    let runtime = RawRuntime::listen();
    let begun = Instant::now();
    let mut plugin = start(&runtime, Host::new());
    let (connection, _unanswered) = silent(&runtime).await;
    let ended = soon("the session's end", &mut plugin.session).await;
    assert_waited(begun);
    assert_eq!(
        ended.unwrap().unwrap_err().to_string(),
        "cannot register as 10-in-process: no answer within 1000 ms"
    );
    connection.closed().await;
}

#[tokio::test]
async fn a_runtime_that_never_configures_is_an_error_after_10_s_more() {
    let runtime = RawRuntime::listen();
    let mut plugin = start(&runtime, Host::new());
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    tokio::time::sleep(LIMIT / 2).await;
    let begun = Instant::now();
    registration.reply(Ok(Vec::new()));
    let ended = soon("the session's end", &mut plugin.session).await;
    assert_waited(begun);
    assert_eq!(
        ended.unwrap().unwrap_err().to_string(),
        "the runtime did not configure the plugin within 1 s of its registration"
    );
    connection.closed().await;
}

#[tokio::test]
async fn a_later_registration_that_is_never_answered_is_a_lost_connection_like_any_other() {
    let runtime = RawRuntime::listen();
    let plugin = start(&runtime, Host::new());
    let mut first = runtime.accept().await;
    first.register().await;
    drop(first);

    let (second, _unanswered) = silent(&runtime).await;
    let begun = Instant::now();
    let mut third = runtime.accept().await;
    assert!(begun.elapsed() > LIMIT * 9 / 10, "{:?}", begun.elapsed());
    second.closed().await;
    third.register().await;
    assert!(!plugin.session.is_finished());
}

// How the delays grow and where they stop is told by the stub's own tests.
#[tokio::test]
async fn a_runtime_that_stays_away_is_found_within_a_second_of_its_return() {
    let runtime = FakeRuntime::start().await.unwrap();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    runtime.plugin_registered().await.unwrap();
    runtime.stop().await;
    // By then the delays have grown as far as they do.
    tokio::time::sleep(Duration::from_secs(2)).await;
    runtime.restart().await.unwrap();
    let answering = Instant::now();
    runtime.registrations(2).await.unwrap();
    let away = answering.elapsed();
    assert!(away < Duration::from_secs(1), "{away:?}");
}

// containerd/containerd#14083: plugins that flap freeze a node.
#[tokio::test]
async fn containerd_14083_a_runtime_that_drops_every_registration_is_not_hammered() {
    let runtime = RawRuntime::listen();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    let begun = Instant::now();
    for _ in 0..8 {
        let mut connection = runtime.accept().await;
        connection.register().await;
    }
    // The delays before the later ones: 0, 25, 50, 100, 200, 400 and 500 ms.
    assert!(begun.elapsed() >= Duration::from_millis(1275));
}

#[tokio::test]
async fn containerd_14083_a_runtime_that_stands_still_gets_few_registrations_and_one_at_a_time() {
    let runtime = RawRuntime::listen();
    let _plugin = start(&runtime, Host::new());
    let mut first = runtime.accept().await;
    first.register().await;
    drop(first);
    let begun = Instant::now();
    let mut registrations = Vec::new();
    while begun.elapsed() < 3 * LIMIT {
        registrations.push(silent(&runtime).await);
        assert!(!runtime.has_another_connection());
    }
    assert!(registrations.len() <= 4, "{}", registrations.len());
}
