//! The tool, running, and the plugin that it waits for.

use std::path::Path;
use std::process::Stdio;

use fake_runtime::api::{ContainerAdjustment, KeyValue};
use fake_runtime::scripted::{Reply, ScriptedConnection, ScriptedPlugin};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// Writes a file for the tool to read.
pub(crate) fn write(dir: &Path, file: &str, text: &str) {
    std::fs::write(dir.join(file), text).unwrap();
}

/// A Pod of one container.
pub(crate) fn pod(name: &str) -> String {
    format!("{{kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: main}}]}}}}")
}

/// Starts `replay --listen nri.sock ARGS`.
pub(crate) fn replay(dir: &Path, args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fake-runtime"))
        .current_dir(dir)
        .args(["replay", "--listen", "nri.sock"])
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// An adjustment that sets HELLO.
pub(crate) fn hello(value: &str) -> ContainerAdjustment {
    let hello = KeyValue {
        key: "HELLO".into(),
        value: value.into(),
    };
    ContainerAdjustment {
        env: vec![hello],
        ..Default::default()
    }
}

/// Connects a plugin that adjusts each container so, once it is waited for.
pub(crate) async fn plugin(
    dir: &Path,
    adjustment: ContainerAdjustment,
    stdout: &mut (impl AsyncRead + Unpin),
) -> ScriptedConnection {
    // What was printed before may still be on its way.
    while !line(stdout).await.contains("listening") {}
    let plugin = ScriptedPlugin::new("10", "hello")
        .reply(move |_| Reply::Adjust(Box::new(adjustment.clone())));
    plugin.connect(&dir.join("nri.sock")).await.unwrap()
}

/// Replays to the plugin, and returns the exit status and what was printed.
pub(crate) async fn replayed(
    dir: &Path,
    adjustment: ContainerAdjustment,
    args: &[&str],
) -> (i32, String) {
    let mut tool = replay(dir, args);
    let _plugin = plugin(dir, adjustment, tool.stdout.as_mut().unwrap()).await;
    let mut printed = String::new();
    tool.stdout
        .as_mut()
        .unwrap()
        .read_to_string(&mut printed)
        .await
        .unwrap();
    (tool.wait().await.unwrap().code().unwrap(), printed)
}

pub(crate) async fn expect_line(from: &mut (impl AsyncRead + Unpin), expected: &str) {
    assert_eq!(line(from).await, expected);
}

/// Reads one line, byte by byte so that nothing of the next is lost.
async fn line(from: &mut (impl AsyncRead + Unpin)) -> String {
    let mut line = Vec::new();
    loop {
        match from.read_u8().await {
            Ok(b'\n') => break,
            Err(error) => panic!("nothing more comes: {error}"),
            Ok(byte) => line.push(byte),
        }
    }
    String::from_utf8(line).unwrap()
}
