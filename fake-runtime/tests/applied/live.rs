//! The same rows, with every answer given by a plugin over a socket.

use std::{sync::Arc, time::Duration};

use fake_runtime::{
    applied::Row,
    create::Answer,
    host::Host,
    runtime::{FakeRuntime, Refused},
    scripted::{Reply, ScriptedConnection, ScriptedPlugin},
};
use nri_proto::wire::{Code, Status};
use serde::Deserialize as _;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::data;

/// containerd's, for a plugin that is recorded as too slow.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// For the others, which a busy machine must not make too slow.
const NO_HURRY: Duration = Duration::from_secs(60);
/// How many rows are played at a time.
const AT_A_TIME: usize = 8;

fn is_slow(answer: &Answer) -> bool {
    matches!(answer, Answer::Lost(how) if how.contains("after 3 s"))
}

/// A plugin that answers as the row's did.
fn scripted(plugin: &str, answer: Answer) -> ScriptedPlugin {
    let (index, name) = plugin.split_once('-').unwrap();
    let scripted = ScriptedPlugin::new(index, name);
    let scripted = scripted.delay(if is_slow(&answer) {
        NO_HURRY
    } else {
        Duration::ZERO
    });
    scripted.reply(move |_| match answer.clone() {
        Answer::Adjust(adjustment) => Reply::Adjust(adjustment),
        Answer::Error { message, .. } => Reply::Error(Status::new(Code::UNKNOWN, message)),
        Answer::Lost(_) => Reply::Leave,
    })
}

async fn play(row: &Row, host: Host) -> Result<(), String> {
    let plugins = row.plugins();
    let slow = plugins.iter().any(|plugin| is_slow(&plugin.answer));
    let runtime = FakeRuntime::builder()
        .profile(row.profile().unwrap())
        .host(host)
        .request_timeout(if slow { REQUEST_TIMEOUT } else { NO_HURRY })
        .patience(NO_HURRY)
        .start()
        .await
        .unwrap();
    let mut connections: Vec<ScriptedConnection> = Vec::new();
    for plugin in &plugins {
        let scripted = scripted(&plugin.plugin, plugin.answer.clone());
        connections.push(scripted.connect(runtime.socket_path()).await.unwrap());
        runtime.registrations(connections.len()).await.unwrap();
    }
    let request = plugins[0].request.clone().unwrap_or_default();
    let spec = row.spec_before().clone();
    let created = runtime
        .create_container_of(request.pod, request.container, spec)
        .await;
    let (asked, result) = match created {
        Ok(created) => (created.asked, Ok(created.after)),
        Err(Refused { error, asked, .. }) => (asked, Err(error)),
    };
    let requests = asked.into_iter().map(|asked| asked.request).collect();
    row.compare(requests, result)
        .map_err(|failure| failure.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_row_comes_out_as_recorded_over_the_socket_too() {
    let host = data::host();
    let permits = Arc::new(Semaphore::new(AT_A_TIME));
    let mut playing = JoinSet::new();
    for file in data::files("applied") {
        for row in data::rows(&file) {
            let (file, host, permits) = (file.clone(), host.clone(), Arc::clone(&permits));
            playing.spawn(async move {
                let _permit = permits.acquire().await.unwrap();
                let case = row["case"].clone();
                let row = Row::deserialize(row).unwrap();
                let played = play(&row, host).await;
                played.map_err(|failure| format!("{file}, {case}:\n{failure}"))
            });
        }
    }
    let played = playing.join_all().await;
    let failed: Vec<_> = played.iter().filter_map(|row| row.as_ref().err()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(played.len(), 1603);
}
