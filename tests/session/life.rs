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
// containerd/nri#74: a lost connection ended the process with status 0 and no log.
#[tokio::test]
async fn nri_129_it_is_registered_again_within_a_second_of_the_socket_answering() {
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
async fn it_waits_for_a_runtime_that_stays_away() {
    let runtime = FakeRuntime::start().await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    runtime.stop().await;
    // Both are said once, however many attempts there are.
    for error in [
        "lost the connection to the runtime",
        "cannot connect to the NRI socket",
    ] {
        let line = plugin
            .logged("not registered; containers are created without the plugin")
            .await;
        assert!(line["error"].as_str().unwrap().starts_with(error), "{line}");
        assert_eq!(line["level"], "warn");
    }
    tokio::time::sleep(2 * AGAIN_WITHIN).await;
    runtime.restart().await.unwrap();
    let answering = Instant::now();
    runtime.registrations(2).await.unwrap();
    assert!(
        answering.elapsed() < AGAIN_WITHIN,
        "{:?}",
        answering.elapsed()
    );
    plugin.logged("registering").await;
}

// koordinator-sh/koordinator#2067: options accumulated with each reconnect.
#[tokio::test]
async fn koordinator_2067_it_registers_the_same_way_each_time() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut first = runtime.accept().await;
    let (told, registration) = first.registration().await;
    registration.reply(Ok(Vec::new()));
    first.configure().await;
    for _ in 0..3 {
        drop(first);
        first = runtime.accept().await;
        let (again, registration) = first.registration().await;
        assert_eq!(again, told);
        registration.reply(Ok(Vec::new()));
        assert_eq!(first.configure().await.events, 8);
    }
}

// containerd/containerd#14083: plugins that flap freeze a node.
#[tokio::test]
async fn a_runtime_that_drops_every_registration_is_not_hammered() {
    let runtime = RawRuntime::listen();
    let _plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let begun = Instant::now();
    for _ in 0..8 {
        let mut connection = runtime.accept().await;
        connection.register().await;
    }
    // The delays before the later ones: 0, 25, 50, 100, 200, 400 and 500 ms.
    assert!(
        begun.elapsed() >= Duration::from_millis(1275),
        "{:?}",
        begun.elapsed()
    );
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
