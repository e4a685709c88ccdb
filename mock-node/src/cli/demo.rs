//! `mock-node demo`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_runtime::create::name_of;
use fake_runtime::pod::{Simulation, manifest, requests};
use fake_runtime::process::PluginProcess;
use fake_runtime::runtime::FakeRuntime;
use mock_node::plugin;
use mock_node::staging::{Devices, Overlay};

use fake_runtime::cli::show::{self, BOLD};
use fake_runtime::cli::{Result, Verdict, block_on};

const EXAMPLES: &str = "\
Examples:
  mock-node demo
  mock-node demo --plugin target/release/nri-plugin";

/// How long the plugin's log may lag behind its answer.
const LOG_LAG: Duration = Duration::from_secs(1);

/// What is created, and what is to be seen by it.
const PODS: [(&str, &str); 3] = [
    (
        "Asks for every mock GPU by annotation.",
        "{kind: Pod, metadata: {name: annotated, annotations: {nvml-mock.nvidia.com/devices: 'true'}}, \
         spec: {containers: [{name: main}]}}",
    ),
    (
        "Was given one GPU by the device plugin: it gets the driver, and no further GPU.",
        "{kind: Pod, metadata: {name: allocated}, \
         spec: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 1}}}]}}",
    ),
    (
        "Asks for nothing.",
        "{kind: Pod, metadata: {name: plain}, spec: {containers: [{name: main}]}}",
    ),
];

/// Show the main job: a mock GPU node, nri-plugin on it, and what three containers get.
///
/// Needs no root, no containerd and no cluster: the node is a temporary directory, the runtime is this program.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The nri-plugin binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    plugin: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        block_on(async {
            let node = tempfile::Builder::new().prefix("mock-node-").tempdir()?;
            let devices = Devices::as_permitted();
            let overlay = Overlay {
                gpus: 2,
                ..Overlay::default()
            };
            overlay.stage(node.path(), devices)?;
            let runtime = FakeRuntime::start().await?;
            writeln!(out, "{BOLD}a node with {} mock GPUs{BOLD:#}", overlay.gpus)?;
            writeln!(out, "  overlay {} ({devices})", node.path().display())?;
            writeln!(out, "  NRI socket {}", runtime.socket_path().display())?;

            let mut process = self.start(&runtime, node.path())?;
            let plugin = registered(&runtime, &mut process).await?;
            writeln!(out, "  plugin {plugin} is registered\n")?;

            for (what, manifest) in PODS {
                writeln!(out, "{what}")?;
                create(out, &runtime, &mut process, manifest).await?;
            }
            process.kill().await?;
            Ok(Verdict::Same)
        })
    }

    fn start(&self, runtime: &FakeRuntime, node: &Path) -> Result<PluginProcess> {
        let beside = || Ok(std::env::current_exe()?.with_file_name("nri-plugin"));
        let path = self
            .plugin
            .clone()
            .map_or_else(beside, Ok::<_, std::io::Error>)?;
        let socket = format!("--socket-path={}", runtime.socket_path().display());
        let flags = [
            &*socket,
            "--health-addr=",
            "--node-name=node-1",
            "--log-level=debug",
        ];
        let command = plugin::command(path)
            .args(flags)
            .args(Overlay::plugin_flags(node));
        Ok(command.spawn()?)
    }
}

/// Waits until the plugin is there, and says which it is.
async fn registered(runtime: &FakeRuntime, process: &mut PluginProcess) -> Result<String> {
    tokio::select! {
        registered = runtime.plugin_registered() => Ok(registered?.to_string()),
        exit = process.exited() => {
            Err(format!("the plugin ended, {}", exit?).into())
        }
    }
}

async fn create(
    out: &mut dyn Write,
    runtime: &FakeRuntime,
    process: &mut PluginProcess,
    manifest: &str,
) -> Result<()> {
    let [pod] = &manifest::parse(manifest)?[..] else {
        return Ok(());
    };
    for request in requests(pod, &Simulation::default())? {
        let name = name_of(&request);
        let created = runtime
            .create_container(request.pod, request.container)
            .await;
        let decision = process.next_in_log(LOG_LAG, plugin::decision).await;
        show::container(out, &name, &created, decision.as_ref())?;
        writeln!(out)?;
    }
    Ok(())
}
