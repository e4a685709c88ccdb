//! The same rows, with every answer given by a plugin over a socket.

use std::{collections::BTreeMap, time::Duration};

use fake_runtime::{
    applied::Row,
    create::Answer,
    host::Host,
    runtime::{FakeRuntime, Refused},
    scripted::{Reply, ScriptedConnection, ScriptedPlugin},
};
use nri_proto::wire::{Code, Status};
use serde::Deserialize as _;

use crate::data;

/// Short, since a plugin that is recorded as too slow is waited for that long.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(500);

/// A plugin that answers as the row's did.
fn scripted(plugin: &str, answer: Answer) -> ScriptedPlugin {
    let (index, name) = plugin.split_once('-').unwrap();
    let scripted = ScriptedPlugin::new(index, name);
    let slow = matches!(&answer, Answer::Lost(how) if how.contains("after 3 s"));
    let scripted = scripted.delay(if slow {
        2 * REQUEST_TIMEOUT
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
    let runtime = FakeRuntime::builder()
        .profile(row.profile().unwrap())
        .host(host)
        .request_timeout(REQUEST_TIMEOUT)
        .start()
        .await
        .unwrap();
    let plugins = row.plugins();
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

#[tokio::test]
async fn every_row_comes_out_as_recorded_over_the_socket_too() {
    let host = data::host();
    let mut rows = BTreeMap::new();
    for file in data::files("applied") {
        for row in data::rows(&file) {
            let case = row["case"].clone();
            let row = Row::deserialize(row).unwrap();
            if let Err(failure) = play(&row, host.clone()).await {
                panic!("{file}, {case}:\n{failure}");
            }
            *rows.entry(file.clone()).or_insert(0) += 1;
        }
    }
    assert_eq!(rows.values().sum::<usize>(), 1336, "{rows:?}");
}
