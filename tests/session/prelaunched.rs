//! Started by the runtime itself, with the connection passed on.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use crate::plugin::soon;
use crate::quiet::starting_a_process;
use crate::raw_runtime::Connection;

/// The plugin with the other end of a connection as its descriptor 0, which a test can pass on without unsafe code;
/// containerd uses 3.
async fn prelaunched(plugin_index: &str) -> (Connection, impl Future<Output = Output>) {
    let (plugins, runtimes) = UnixStream::pair().unwrap();
    runtimes.set_nonblocking(true).unwrap();
    let connection = Connection::new(tokio::net::UnixStream::from_std(runtimes).unwrap());
    let starting = starting_a_process().await;
    let child = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .args(["--health-addr=", "--socket-path=/nowhere/nri.sock"])
        .env("NRI_PLUGIN_SOCKET", "0")
        .env("NRI_PLUGIN_NAME", "given-name")
        .env("NRI_PLUGIN_IDX", plugin_index)
        .stdin(OwnedFd::from(plugins))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(starting);
    let ended = tokio::task::spawn_blocking(|| child.wait_with_output());
    (connection, async {
        soon("the plugin's end", ended).await.unwrap().unwrap()
    })
}

#[tokio::test]
async fn it_registers_on_the_inherited_descriptor_as_it_is_told() {
    let (mut connection, ended) = prelaunched("42").await;
    let (told, registration) = connection.registration().await;
    assert_eq!(
        (told.plugin_idx.as_str(), told.plugin_name.as_str()),
        ("42", "given-name")
    );
    registration.reply(Ok(Vec::new()));
    assert_eq!(connection.configure().await.events, 8);
    drop(connection);
    ended.await;
}

// containerd/nri#74, #108: it ended with status 0.
#[tokio::test]
async fn containerd_nri_74_losing_the_only_connection_ends_the_process_and_says_so() {
    let (mut connection, ended) = prelaunched("42").await;
    connection.register().await;
    drop(connection);
    let output = ended.await;
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "nri-plugin: lost the connection to the runtime: the peer closed the connection\n"
    );
}
