//! The plugin's binary, running, with its log and its probes.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use fake_runtime::process::{Exit, PluginProcess};
use nri_proto::api::{Container, PodSandbox};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{spawn_blocking, yield_now};
use tokio::time::timeout;

/// What takes longer than this does not happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for what a test cannot do without.
pub(crate) async fn soon<T>(awaited: &str, event: impl Future<Output = T>) -> T {
    let Ok(happened) = timeout(PATIENCE, event).await else {
        panic!("in vain: {awaited}")
    };
    happened
}

/// Waits for what nothing tells of.
pub(crate) async fn until(awaited: &str, holds: impl Fn() -> bool) {
    let asking = async {
        while !holds() {
            yield_now().await;
        }
    };
    soon(awaited, asking).await;
}

/// A running plugin.
pub(crate) struct Plugin {
    process: PluginProcess,
    probes: SocketAddr,
}

impl Plugin {
    /// Starts it beside the runtime at `socket`, with debug logs and probes on a free port.
    pub(crate) async fn start(socket: &Path, flags: &[&str]) -> Self {
        let socket = format!("--socket-path={}", socket.display());
        let process = mock_node::plugin::command(env!("CARGO_BIN_EXE_nri-plugin"))
            .args([
                socket.as_str(),
                "--health-addr=127.0.0.1:0",
                "--log-level=debug",
            ])
            .args(flags)
            .spawn()
            .unwrap();
        let probes = SocketAddr::from(([0; 4], 0));
        let mut plugin = Self { process, probes };
        let line = plugin.logged("serving the probes").await;
        plugin.probes = line["address"].as_str().unwrap().parse().unwrap();
        plugin
    }

    /// Reads the log on to the next line that says `msg`, and returns that line.
    pub(crate) async fn logged(&mut self, msg: &str) -> Value {
        self.log_until(msg).await.pop().unwrap()
    }

    /// Reads the log on to the next line that says `msg`, and returns all that was read.
    pub(crate) async fn log_until(&mut self, msg: &str) -> Vec<Value> {
        let mut lines = Vec::<Value>::new();
        let reading = async {
            while lines.last().is_none_or(|line| line["msg"] != msg) {
                let line = self.process.next_log_line().await?;
                lines.push(serde_json::from_str(&line).unwrap());
            }
            Some(())
        };
        let read = timeout(PATIENCE, reading).await;
        assert_eq!(read, Ok(Some(())), "no {msg:?} in the log: {lines:#?}");
        lines
    }

    /// Where it serves the probes.
    pub(crate) fn probes(&self) -> SocketAddr {
        self.probes
    }

    /// Status and body of `GET path`.
    pub(crate) async fn get(&self, path: &str) -> (u16, String) {
        get(self.probes, path).await
    }

    /// Asks `path` until it answers `status`, and returns the body.
    pub(crate) async fn until(&self, path: &str, status: u16) -> String {
        let asking = async {
            loop {
                let (told, body) = self.get(path).await;
                if told == status {
                    return body;
                }
            }
        };
        soon(&format!("{path} answers {status}"), asking).await
    }

    /// The value of a metric that `/metrics` tells, under its name and labels as they stand there.
    pub(crate) async fn metric(&self, name: &str) -> Option<String> {
        let (_, text) = self.get("/metrics").await;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map(str::to_owned)
    }

    /// The process's id.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().unwrap().try_into().unwrap()).unwrap()
    }

    /// Waits until one of its threads waits for the runtime to accept its connection.
    pub(crate) async fn connecting(&self) {
        let number = format!("{} ", libc::SYS_connect);
        let waits = || {
            let threads = fs::read_dir(format!("/proc/{}/task", self.pid())).unwrap();
            threads.flatten().any(|thread| {
                let call = fs::read_to_string(thread.path().join("syscall"));
                call.is_ok_and(|call| call.starts_with(&number))
            })
        };
        until("the plugin connects", waits).await;
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Stops it, as on a node that has no processor time left for it, until a [`Signal::CONT`].
    pub(crate) async fn stall(&self) {
        let pid = self.pid();
        self.signal(Signal::STOP);
        // The signal is only sent by then: each thread runs on until it meets it.
        let waiting = spawn_blocking(move || waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED));
        soon("the plugin stops", waiting).await.unwrap().unwrap();
    }

    /// Waits for its end.
    pub(crate) async fn exited(&mut self) -> Exit {
        soon("the plugin's end", self.process.exited())
            .await
            .unwrap()
    }

    /// Waits for its end, which has to be a good one.
    pub(crate) async fn stopped(&mut self) {
        let exit = self.exited().await;
        assert_eq!((exit.status.code(), exit.stderr.as_str()), (Some(0), ""));
    }
}

/// Status and body of `GET path` from the probes at `address`.
pub(crate) async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: probes\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (
        head.split(' ').nth(1).unwrap().parse().unwrap(),
        body.to_owned(),
    )
}

/// A pod that asks for all mock GPUs.
pub(crate) fn annotated_pod() -> PodSandbox {
    PodSandbox {
        id: "pod-id".into(),
        name: "pod".into(),
        namespace: "default".into(),
        annotations: [("nvml-mock.nvidia.com/devices".into(), "true".into())].into(),
        ..Default::default()
    }
}

/// A container of that pod.
pub(crate) fn container(name: &str) -> Container {
    Container {
        name: name.into(),
        pod_sandbox_id: "pod-id".into(),
        ..Default::default()
    }
}
