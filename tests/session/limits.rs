//! How long a runtime is waited for. The clock is the test's, and jumps ahead whenever nothing else happens.

use std::time::Duration;

use fake_runtime::runtime::FakeRuntime;
use nri_plugin::host::Host;
use nri_proto::wire::Request;
use tokio::time::{Instant, sleep};

use crate::in_process::InProcess;
use crate::quiet::no_process_starts;
use crate::raw_runtime::{Connection, RawRuntime};

/// How long the runtime is waited for at each step of a registration.
const LIMIT: Duration = Duration::from_secs(10);

/// Accepts a connection, and keeps its registration: dropping that would be an answer.
async fn silent(runtime: &RawRuntime) -> (Connection, Request) {
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    (connection, registration)
}

/// A step that began at `begun` must have been waited for until just now.
fn assert_waited(begun: Instant) {
    let waited = begun.elapsed();
    assert!(
        (LIMIT..LIMIT + Duration::from_secs(1)).contains(&waited),
        "{waited:?}"
    );
}

// containerd/nri#292: the plugin gave up before a busy runtime answered, and its error hid the cause.
#[tokio::test(start_paused = true)]
async fn containerd_nri_292_a_runtime_that_is_busy_for_8_s_gets_its_plugin() {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let plugin = InProcess::start(runtime.socket_path(), Host::new());
    sleep(Duration::from_secs(8)).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    assert!(!plugin.session.is_finished());
}

#[tokio::test(start_paused = true)]
async fn containerd_nri_292_a_first_registration_that_is_never_answered_is_an_error_that_tells_how_long()
 {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let begun = Instant::now();
    let plugin = InProcess::start(runtime.socket_path(), Host::new());
    let (connection, _unanswered) = silent(&runtime).await;
    let error = plugin.session.await.unwrap().unwrap_err();
    assert_waited(begun);
    assert_eq!(
        error.to_string(),
        "cannot register as 10-in-process: no answer within 10000 ms"
    );
    connection.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_never_configures_is_an_error_after_10_s_more() {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let plugin = InProcess::start(runtime.socket_path(), Host::new());
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    sleep(LIMIT / 2).await;
    registration.reply(Ok(Vec::new()));
    let begun = Instant::now();
    let error = plugin.session.await.unwrap().unwrap_err();
    assert_waited(begun);
    assert_eq!(
        error.to_string(),
        "the runtime did not configure the plugin within 10 s of its registration"
    );
    connection.closed().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_registration_that_is_never_answered_is_a_lost_connection_like_any_other() {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let plugin = InProcess::start(runtime.socket_path(), Host::new());
    let mut first = runtime.accept().await;
    first.register().await;
    drop(first);

    let (second, _unanswered) = silent(&runtime).await;
    let begun = Instant::now();
    let mut third = runtime.accept().await;
    assert_waited(begun);
    second.closed().await;
    third.register().await;
    assert!(!plugin.session.is_finished());
}

#[tokio::test(start_paused = true)]
async fn a_runtime_that_stays_away_for_an_hour_is_found_within_a_second_of_its_return() {
    let _quiet = no_process_starts().await;
    let runtime = FakeRuntime::start().await.unwrap();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    runtime.plugin_registered().await.unwrap();
    runtime.stop().await;
    sleep(Duration::from_secs(3600)).await;
    runtime.restart().await.unwrap();
    let answering = Instant::now();
    runtime.registrations(2).await.unwrap();
    let away = answering.elapsed();
    assert!(away < Duration::from_secs(1), "{away:?}");
}

// containerd/containerd#14083: plugins that flap freeze a node.
#[tokio::test(start_paused = true)]
async fn containerd_14083_a_runtime_that_drops_every_registration_is_not_hammered() {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    let begun = Instant::now();
    for _ in 0..8 {
        let mut connection = runtime.accept().await;
        connection.register().await;
    }
    // The delays before the later ones: 0, 25, 50, 100, 200, 400 and 500 ms.
    let took = begun.elapsed().as_millis();
    assert!((1275..1400).contains(&took), "{took} ms");

    let mut registrations = 8;
    while begun.elapsed() < Duration::from_secs(60) {
        let mut connection = runtime.accept().await;
        connection.register().await;
        registrations += 1;
    }
    assert!(registrations <= 126, "{registrations} in a minute");
}

#[tokio::test(start_paused = true)]
async fn containerd_14083_a_runtime_that_stands_still_gets_few_registrations_and_one_at_a_time() {
    let _quiet = no_process_starts().await;
    let runtime = RawRuntime::listen();
    let _plugin = InProcess::start(runtime.socket_path(), Host::new());
    let mut first = runtime.accept().await;
    first.register().await;
    drop(first);
    let begun = Instant::now();
    let mut registrations = Vec::new();
    while begun.elapsed() < Duration::from_secs(60) {
        registrations.push(silent(&runtime).await);
        assert!(!runtime.has_another_connection());
    }
    assert_eq!(registrations.len(), 7);
}
