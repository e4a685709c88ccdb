//! A process without file descriptors left.

use std::fs;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, Signal, getrlimit, prlimit};
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::plugin::Plugin;
use crate::raw_runtime::RawRuntime;

const WARNING: &str = "cannot accept a probe's connection, trying on";

/// Bounds the process's descriptors. The limit that it started with is the test's own.
fn limit(plugin: &Plugin, current: Option<u64>) {
    let limit = Rlimit {
        current,
        ..getrlimit(Resource::Nofile)
    };
    prlimit(Some(plugin.pid()), Resource::Nofile, limit).unwrap();
}

#[tokio::test]
async fn probes_are_warned_of_once_while_descriptors_lack_and_answered_after() {
    let runtime = RawRuntime::listen();
    let mut plugin = Plugin::start(runtime.socket_path(), &[]).await;
    let mut connection = runtime.accept().await;
    connection.register().await;

    let is_open = |number| fs::exists(format!("/proc/{}/fd/{number}", plugin.pid())).unwrap();
    let lowest_free = (0..).find(|number| !is_open(*number));
    limit(&plugin, lowest_free);
    let _waiting = TcpStream::connect(plugin.probes()).await.unwrap();
    plugin.logged(WARNING).await;
    // It tries ten times a second, and nothing tells of that.
    sleep(Duration::from_millis(350)).await;
    limit(&plugin, getrlimit(Resource::Nofile).current);
    plugin.until("/readyz", 200).await;

    plugin.signal(Signal::TERM);
    let log = plugin.log_until("stopped").await;
    assert!(log.iter().all(|line| line["msg"] != WARNING), "{log:#?}");
    plugin.stopped().await;
}
