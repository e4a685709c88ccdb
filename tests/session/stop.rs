//! SIGTERM and SIGINT, in every state; and SIGHUP.

use fake_runtime::process::PluginCommand;
use fake_runtime::runtime::FakeRuntime;
use nri_plugin::host::Host;
use rustix::process::{Pid, Signal, kill_process};

use crate::in_process::InProcess;
use crate::plugin::{Plugin, soon};
use crate::raw_runtime::RawRuntime;

#[tokio::test]
async fn it_stops_while_it_waits_to_be_registered() {
    for signal in [Signal::TERM, Signal::INT] {
        let runtime = RawRuntime::listen();
        let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
        let mut connection = runtime.accept().await;
        let _unanswered = connection.registration().await;
        plugin.signal(signal);
        plugin.stopped().await;
    }
}

#[tokio::test]
async fn it_stops_while_it_waits_to_be_configured() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    let (_, registration) = connection.registration().await;
    registration.reply(Ok(Vec::new()));
    plugin.signal(Signal::TERM);
    plugin.stopped().await;
}

#[tokio::test]
async fn it_stops_while_the_runtime_accepts_no_connection() {
    let runtime = RawRuntime::listen();
    let _first = runtime.fill();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    plugin.connecting().await;
    plugin.signal(Signal::TERM);
    plugin.stopped().await;
}

#[tokio::test]
async fn it_stops_while_it_serves() {
    for signal in [Signal::TERM, Signal::INT] {
        let runtime = FakeRuntime::start().await.unwrap();
        let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
        runtime.plugin_registered().await.unwrap();
        plugin.signal(signal);
        plugin.logged("stopped").await;
        plugin.stopped().await;
        runtime.plugins_gone().await.unwrap();
    }
}

#[tokio::test]
async fn it_stops_while_the_runtime_is_away() {
    let runtime = FakeRuntime::start().await.unwrap();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    runtime.plugin_registered().await.unwrap();
    runtime.stop().await;
    plugin.until("/readyz", 503).await;
    plugin.signal(Signal::TERM);
    plugin.stopped().await;
}

#[tokio::test]
async fn a_runtime_that_goes_at_the_same_time_is_no_error() {
    let runtime = RawRuntime::listen();
    let mut plugin = InProcess::start(runtime.socket_path(), Host::new());
    let mut connection = runtime.accept().await;
    let _unanswered = connection.registration().await;
    plugin.stop.request();
    drop(connection);
    soon("the session's end", &mut plugin.session)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_hang_up_that_it_was_started_to_ignore_does_not_end_it() {
    let runtime = FakeRuntime::start().await.unwrap();
    // As nohup does.
    let mut process = PluginCommand::new("/bin/sh")
        .args(["-c", r#"trap "" HUP; exec "$0" "$@""#])
        .args([env!("CARGO_BIN_EXE_nri-plugin"), "--health-addr="])
        .args([&format!(
            "--socket-path={}",
            runtime.socket_path().display()
        )])
        .spawn()
        .unwrap();
    runtime.plugin_registered().await.unwrap();
    let pid = Pid::from_raw(process.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::HUP).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let exit = soon("the plugin's end", process.exited()).await.unwrap();
    assert_eq!(exit.status.code(), Some(0), "{}", exit.status);
}
