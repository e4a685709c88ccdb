//! Losing the runtime, and finding it again.

use std::time::{Duration, Instant};

use fake_runtime::runtime::{FakeRuntime, Received};

use crate::plugin::{Plugin, annotated_pod, container};
use crate::raw_runtime::RawRuntime;

/// How long after the socket answers again the plugin is to be registered again.
const AGAIN_WITHIN: Duration = Duration::from_secs(1);

/// The most connections that were open at one time.
fn most_at_a_time(received: &[Received]) -> i32 {
    let mut open = 0;
    let counts = received.iter().map(|received| {
        match received {
            Received::Connected { .. } => open += 1,
            Received::Closed { .. } => open -= 1,
            _ => {}
        }
        open
    });
    counts.max().unwrap_or_default()
}

// containerd/nri#129, NVIDIA/nvidia-container-toolkit#1763: after a restart of containerd it never came back.
#[tokio::test]
async fn containerd_nri_129_it_is_registered_again_within_a_second_of_the_socket_answering() {
    let runtime = FakeRuntime::start().await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    plugin.until("/readyz", 200).await;

    for registrations in 2..=3 {
        runtime.stop().await;
        let body = plugin.until("/readyz", 503).await;
        assert!(
            body.contains("not registered with the container runtime"),
            "{body}"
        );
        assert_eq!(plugin.get("/healthz").await.0, 200);

        runtime.restart().await.unwrap();
        let answering = Instant::now();
        runtime.registrations(registrations).await.unwrap();
        assert!(
            answering.elapsed() < AGAIN_WITHIN,
            "{:?}",
            answering.elapsed()
        );
        plugin.until("/readyz", 200).await;
        let line = plugin.logged("registered again").await;
        assert_eq!(line["registrations"], registrations);
    }

    assert_eq!(most_at_a_time(&runtime.received()), 1);
    assert_eq!(
        plugin
            .metric("nri_plugin_registrations_total")
            .await
            .as_deref(),
        Some("3")
    );
    assert_eq!(
        plugin
            .metric("nri_plugin_connection_losses_total")
            .await
            .as_deref(),
        Some("2")
    );
    let created = runtime
        .create_container(annotated_pod(), container("c"))
        .await
        .unwrap();
    assert_eq!(created.asked.len(), 1);
}

#[tokio::test]
async fn a_failure_that_repeats_is_said_once() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.accept().await.register().await;
    for _ in 0..5 {
        let mut connection = runtime.accept().await;
        let _unanswered = connection.registration().await;
        drop(connection);
    }
    let mut connection = runtime.accept().await;
    connection.register().await;

    let lines = plugin.log_until("registered again").await;
    let warnings: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "warn")
        .collect();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    for (warning, error) in warnings.iter().zip([
        "lost the connection to the runtime",
        "connection closed before the plugin was registered",
    ]) {
        assert_eq!(
            warning["msg"],
            "not registered; containers are created without the plugin"
        );
        let told = warning["error"].as_str().unwrap();
        assert!(told.starts_with(error), "{told}");
    }
}

// koordinator-sh/koordinator#2067: options accumulated with each reconnect.
#[tokio::test]
async fn koordinator_2067_it_registers_the_same_way_each_time() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut first = runtime.accept().await;
    let (told, registration) = first.registration().await;
    let bytes = registration.payload.clone();
    registration.reply(Ok(Vec::new()));
    first.configure().await;
    for _ in 0..3 {
        drop(first);
        first = runtime.accept().await;
        let (again, registration) = first.registration().await;
        assert_eq!((&again, &registration.payload), (&told, &bytes));
        registration.reply(Ok(Vec::new()));
        assert_eq!(first.configure().await.events, 8);
    }
}

#[tokio::test]
async fn garbage_from_a_runtime_is_a_lost_connection_like_any_other() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    connection.register().await;
    for garbage in [&[0xff; 64][..], &[0, 0, 0, 1, 0, 0, 0, 4, 1, 2]] {
        connection.caller.inject(garbage.to_vec().into());
        let previous = connection;
        if garbage.len() < 64 {
            // A frame that is cut short shows when the runtime goes.
            drop(previous);
        } else {
            previous.closed().await;
        }
        connection = runtime.accept().await;
        connection.register().await;
    }
    plugin.until("/readyz", 200).await;
}

// containerd/nri#74, #108: a lost connection ended the process with status 0 and no log.
#[tokio::test]
async fn containerd_nri_74_every_loss_of_a_registration_is_warned_of_and_counted() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    for losses in 1..=3 {
        let mut connection = runtime.accept().await;
        connection.register().await;
        drop(connection);
        let line = plugin
            .logged("not registered; containers are created without the plugin")
            .await;
        assert_eq!(line["level"], "warn");
        let counted = plugin.metric("nri_plugin_connection_losses_total").await;
        assert_eq!(counted, Some(losses.to_string()));
    }
}
