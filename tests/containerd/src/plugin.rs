//! The plugin as a process beside a node.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use mock_node::staging::Overlay;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::binary;
use crate::log::Log;
use crate::node::Node;
use crate::probe::Probe;

/// The log line that tells where the probes are, in its field `address`.
const PROBES_LINE: &str = "serving the probes";

/// A running plugin beside a node. Dropping it kills it; when the test is failing, its log is printed
/// first.
#[derive(Debug)]
pub struct Plugin {
    child: Child,
    log: Log,
    /// The same beside the fake runtime.
    at_fake: Option<Box<Plugin>>,
}

impl Plugin {
    /// Starts the plugin, with `flags` after those that name the node's socket and overlay, and waits
    /// until containerd asks it about new containers. Each of them is created by the fake runtime too,
    /// with the same plugin, and fails the test where that does not do the same.
    ///
    /// # Panics
    ///
    /// When it is not registered in time.
    pub async fn start(node: &Node, flags: &[&str]) -> Self {
        let parity = node.parity().await;
        let at_fake = parity.plugin(node, flags).await;
        let mut plugin = Self::start_alone(node, flags).await;
        plugin.at_fake = Some(Box::new(at_fake));
        plugin
    }

    /// The same with nothing else beside containerd: for tests in which it, or the plugin, is away.
    ///
    /// # Panics
    ///
    /// When it is not registered in time.
    pub async fn start_alone(node: &Node, flags: &[&str]) -> Self {
        let containerd = node.log().from_now();
        let plugin = Self::launch(node, flags);
        Self::asked_by(&containerd).await;
        plugin
    }

    /// Waits until containerd asks a plugin about new containers, by a line in its log.
    ///
    /// # Panics
    ///
    /// When none comes.
    pub async fn asked_by(containerd: &Log) {
        containerd.wait_for("\\\" connected").await;
    }

    /// Starts the plugin and waits for nothing.
    ///
    /// # Panics
    ///
    /// When it cannot be run.
    #[must_use]
    pub fn launch(node: &Node, flags: &[&str]) -> Self {
        Self::launch_at(&node.nri_socket(), &node.overlay(), flags)
    }

    /// The same beside whoever listens at `socket`.
    ///
    /// # Panics
    ///
    /// When it cannot be run.
    #[must_use]
    pub fn launch_at(socket: &Path, overlay: &Path, flags: &[&str]) -> Self {
        let mut child = Command::new(binary::nri_plugin())
            .arg("--socket-path")
            .arg(socket)
            .args(Overlay::plugin_flags(overlay))
            .args(["--health-addr=127.0.0.1:0", "--log-level=debug"])
            .args(flags)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the plugin runs");
        let stdout = child.stdout.take().expect("stdout is piped");
        let stderr = child.stderr.take().expect("stderr is piped");
        let log = Log::follow([Box::new(stdout), Box::new(stderr)]);
        Self {
            child,
            log,
            at_fake: None,
        }
    }

    /// What it answers on the address of its probes.
    ///
    /// # Panics
    ///
    /// When it does not answer.
    pub async fn probe(&self, path: &str) -> Probe {
        let line = self.log.wait_for(PROBES_LINE).await;
        let line: Value = serde_json::from_str(&line).expect("a log line is JSON");
        let address = line["address"]
            .as_str()
            .expect("the line tells the address");
        Probe::get(address, path).await
    }

    /// Asks a probe until it answers with this status, and gives that answer.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub async fn probe_until(&self, path: &str, status: u16) -> Probe {
        for _ in 0..1000 {
            let probe = self.probe(path).await;
            if probe.status == status {
                return probe;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{path} never answers {status}");
    }

    /// The sum of the metrics whose name and labels start so.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub async fn metric(&self, series: &str) -> f64 {
        let metrics = self.probe("/metrics").await.body;
        let values = metrics.lines().filter(|line| line.starts_with(series));
        let values: Vec<f64> = values
            .filter_map(|line| line.rsplit(' ').next()?.parse().ok())
            .collect();
        assert!(!values.is_empty(), "no metric {series} in\n{metrics}");
        values.iter().sum()
    }

    /// Its process.
    ///
    /// # Panics
    ///
    /// When it was waited for.
    #[must_use]
    pub fn pid(&self) -> i32 {
        let pid = self.child.id().expect("it was not waited for");
        i32::try_from(pid).expect("a process number")
    }

    /// Ends it as the kernel would.
    ///
    /// # Panics
    ///
    /// When the system does not.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("it is killed");
        if let Some(at_fake) = &mut self.at_fake {
            at_fake.child.kill().await.expect("it is killed");
        }
    }

    /// Waits until it ends by itself, and gives its exit status.
    ///
    /// # Panics
    ///
    /// When it does not.
    pub async fn exit_code(&mut self) -> Option<i32> {
        let ended = tokio::time::timeout(Duration::from_secs(20), self.child.wait()).await;
        ended.expect("it ends").expect("it has a status").code()
    }

    /// What it printed.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }
}

impl Drop for Plugin {
    #[expect(
        clippy::print_stderr,
        reason = "the test harness shows it beside the failure"
    )]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the plugin's log:\n{}", self.log);
        }
    }
}
