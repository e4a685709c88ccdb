//! A log that nobody reads.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};

use fake_runtime::create::Answer;
use fake_runtime::runtime::FakeRuntime;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::plugin::{annotated_pod, container, get, soon};

/// A plugin whose log is read up to the line that tells the probes' address, and no further.
struct Undrained {
    child: Child,
    probes: SocketAddr,
    _stdout: BufReader<ChildStdout>,
}

async fn start(runtime: &FakeRuntime) -> Undrained {
    let mut child = Command::new(env!("CARGO_BIN_EXE_nri-plugin"))
        .arg(format!("--socket-path={}", runtime.socket_path().display()))
        .args(["--health-addr=127.0.0.1:0", "--log-level=debug"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let probes = loop {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let line: Value = serde_json::from_str(&line).unwrap();
        if let Some(address) = line["address"].as_str() {
            break address.parse().unwrap();
        }
    };
    Undrained {
        child,
        probes,
        _stdout: stdout,
    }
}

impl Undrained {
    async fn dropped_lines(&self) -> u64 {
        let (_, metrics) = get(self.probes, "/metrics").await;
        let name = "nri_plugin_log_lines_dropped_total ";
        let value = metrics.lines().find_map(|line| line.strip_prefix(name));
        value.unwrap().parse().unwrap()
    }
}

impl Drop for Undrained {
    fn drop(&mut self) {
        // It has ended already where the test passed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_log_that_nobody_reads_costs_lines_and_no_answer() {
    let runtime = FakeRuntime::start().await.unwrap();
    let mut plugin = start(&runtime).await;
    runtime.plugin_registered().await.unwrap();
    let filling = async {
        while plugin.dropped_lines().await == 0 {
            for _ in 0..100 {
                let created = runtime
                    .create_container(annotated_pod(), container("c"))
                    .await
                    .unwrap();
                assert!(matches!(created.asked[0].answer, Answer::Adjust(_)));
            }
        }
    };
    soon("a dropped line", filling).await;

    let created = runtime
        .create_container(annotated_pod(), container("c"))
        .await
        .unwrap();
    let Answer::Adjust(adjustment) = &created.asked[0].answer else {
        panic!("{created:?}")
    };
    assert_eq!(adjustment.mounts.len(), 2);
    assert_eq!(get(plugin.probes, "/readyz").await.0, 200);

    let pid = Pid::from_child(&plugin.child);
    kill_process(pid, Signal::TERM).unwrap();
    let status = plugin.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
}
