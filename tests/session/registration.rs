//! How the plugin gets registered, or tells why it does not.

use fake_runtime::profile;
use fake_runtime::runtime::FakeRuntime;
use nri_proto::api::{self, plugin};
use nri_proto::wire::{Code, Status};

use crate::plugin::Plugin;
use crate::raw_runtime::RawRuntime;

#[tokio::test]
async fn a_runtime_that_accepts_no_connection_yet_is_waited_for() {
    let runtime = RawRuntime::listen();
    let _first = runtime.fill();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    plugin.connecting().await;
    runtime.accept_stream().await;
    runtime.accept().await.register().await;
}

// containerd/nri#159, confidential-dot-ai/c8s#620: any other mask ends the connection, or is every event.
#[tokio::test]
async fn containerd_nri_159_c8s_620_every_runtime_is_asked_for_create_container_alone() {
    for profile in profile::ALL {
        let runtime = FakeRuntime::builder()
            .profile(profile)
            .start()
            .await
            .unwrap();
        let _plugin = Plugin::start(
            runtime.socket_path(),
            &["--plugin-name=a", "--plugin-index=07"],
        )
        .await;
        let info = runtime.plugin_registered().await.unwrap();
        assert_eq!(
            (info.index.as_str(), info.name.as_str(), info.events),
            ("07", "a", 8)
        );
    }
}

#[tokio::test]
async fn a_runtime_may_configure_the_plugin_before_it_answers_the_registration() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (told, registration) = connection.registration().await;
    assert_eq!(
        (told.plugin_idx.as_str(), told.plugin_name.as_str()),
        ("10", "mokka-nri-plugin")
    );
    assert_eq!(connection.configure().await.events, 8);
    plugin.until("/readyz", 200).await;
    registration.reply(Ok(Vec::new()));
    let nothing = api::SynchronizeRequest::default();
    connection
        .call::<api::SynchronizeResponse>(plugin::SYNCHRONIZE, &nothing)
        .await
        .unwrap();
}

// NVIDIA/nvidia-container-toolkit#1780: a registration that failed was only logged.
#[tokio::test]
async fn nvidia_container_toolkit_1780_a_refused_registration_ends_the_process_and_says_why() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &["--plugin-name=x"]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Err(Status::new(Code::UNKNOWN, "invalid plugin name")));
    let exit = plugin.exited().await;
    assert_eq!(exit.status.code(), Some(1));
    assert_eq!(
        exit.stderr,
        "nri-plugin: cannot register as 10-x: invalid plugin name (unknown)\n"
    );
    connection.closed().await;
}

#[tokio::test]
async fn a_registration_refused_after_configure_is_refused_all_the_same() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &["--plugin-name=x"]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    connection.configure().await;
    registration.reply(Err(Status::new(Code::UNKNOWN, "not you")));
    assert_eq!(plugin.exited().await.status.code(), Some(1));
}

#[tokio::test]
async fn a_runtime_that_closes_before_configuring_ends_the_process() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    drop(connection);
    let exit = plugin.exited().await;
    assert_eq!(exit.status.code(), Some(1));
    assert_eq!(
        exit.stderr,
        "nri-plugin: connection closed before the plugin was registered: the peer closed the connection\n"
    );
}

#[tokio::test]
async fn bytes_that_are_no_nri_end_a_first_registration() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let connection = runtime.accept().await;
    connection.caller.inject(vec![0xff; 64].into());
    let exit = plugin.exited().await;
    assert_eq!(exit.status.code(), Some(1));
    assert!(
        exit.stderr
            .starts_with("nri-plugin: connection closed before"),
        "{}",
        exit.stderr
    );
    assert_eq!(exit.stderr.lines().count(), 1);
}

#[tokio::test]
async fn it_is_ready_only_once_it_is_configured() {
    let runtime = RawRuntime::listen();
    let plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    assert_eq!(plugin.get("/readyz").await.0, 503);
    connection.configure().await;
    assert_eq!(plugin.get("/readyz").await.0, 200);
    assert_eq!(
        plugin.metric("nri_plugin_registered").await.as_deref(),
        Some("1")
    );
}
