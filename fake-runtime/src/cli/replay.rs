//! `fake-runtime replay`.

mod container;
mod golden;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use fake_runtime::create::name_of;
use fake_runtime::process::{PluginCommand, PluginProcess};
use fake_runtime::requests::Requests;
use fake_runtime::runtime::FakeRuntime;

use super::simulate::Simulate;
use super::{Output, Result, Verdict, usage};
use container::Container;
use golden::Goldens;

const EXAMPLES: &str = "\
Examples:
  fake-runtime replay pod.yaml --plugin target/debug/nri-plugin -- --overlay-host-path=/tmp/overlay
  fake-runtime replay requests.jsonl.gz --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime replay pod.yaml --gpus 2 --listen /tmp/nri.sock    # and start the plugin by hand
  fake-runtime replay pods/*.yaml --expect goldens --plugin ./my-plugin
  fake-runtime replay pods/*.yaml --expect goldens --update --plugin ./my-plugin";

/// How long the log of nri-plugin may lag behind its answer.
const LOG_LAG: Duration = Duration::from_secs(1);
/// How long somebody has who starts a plugin by hand.
const BY_HAND: Duration = Duration::from_secs(24 * 3600);

/// Create the containers of Pod manifests, recordings and requests, and print what a plugin makes of them.
///
/// For each container: what the plugin answered, the reason from its log where it is nri-plugin, and what changed in
/// the container's OCI spec. With --expect all of it is compared with files of an earlier run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("whom").required(true).args(["plugin", "listen"])))]
pub(super) struct Args {
    /// Pod manifests (YAML or JSON), recordings (JSON lines, plain or gzipped), CreateContainer requests (JSON)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The plugin binary; each file is replayed to a process of its own
    #[arg(long, value_name = "PATH")]
    plugin: Option<PathBuf>,
    /// Wait on this socket for a plugin that somebody else starts
    #[arg(long, value_name = "SOCKET")]
    listen: Option<PathBuf>,
    /// Compare with the files of this directory, and print what differs
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Write these files anew instead
    #[arg(long, requires = "expect")]
    update: bool,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    simulate: Simulate,
    /// The plugin's arguments; {socket} in them is the path of the NRI socket, and where none has it,
    /// --socket-path=PATH is appended
    #[arg(last = true, value_name = "ARGS", requires = "plugin")]
    args: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let mut names = HashSet::new();
        if self.expect.is_some() && !self.files.iter().all(|file| names.insert(file.file_name())) {
            let message = "with --expect no two files may have the same name";
            usage(ErrorKind::ArgumentConflict, message);
        }
        super::block_on(async {
            let mut goldens = self.expect.as_deref().map(Goldens::new);
            for file in &self.files {
                let containers = self.replay(file).await?;
                for container in &containers {
                    match self.output {
                        _ if goldens.is_some() => {}
                        Output::Text => container.print(out)?,
                        Output::Json => writeln!(out, "{}", container.json())?,
                    }
                }
                match &mut goldens {
                    Some(goldens) if self.update => goldens.update(file, &containers)?,
                    Some(goldens) => goldens.compare(out, file, &containers)?,
                    None => {}
                }
            }
            goldens.map_or(Ok(Verdict::Same), |goldens| {
                goldens.finish(out, self.update)
            })
        })
    }

    /// Creates the containers of one file.
    async fn replay(&self, file: &Path) -> Result<Vec<Container>> {
        let Requests { profile, requests } = self.simulate.read(file)?;
        let mut runtime = FakeRuntime::builder().profile(profile);
        if let Some(socket) = &self.listen {
            runtime = runtime.socket(socket).patience(BY_HAND);
        }
        let runtime = runtime.start().await?;
        if let Some(socket) = &self.listen {
            // Beside the output, which scripts read.
            writeln!(
                anstream::stderr(),
                "waiting for a plugin on {}",
                socket.display()
            )?;
        }
        let mut process = self.start(&runtime)?;
        registered(&runtime, process.as_mut()).await?;

        let mut containers = Vec::new();
        let mut tells_why = true;
        for request in requests {
            let name = name_of(&request);
            let created = runtime
                .create_container(request.pod, request.container)
                .await;
            let decision = match &mut process {
                // Who told nothing of the first container is another plugin than ours.
                Some(process) if tells_why => process.next_decision(LOG_LAG).await,
                _ => None,
            };
            tells_why = decision.is_some();
            containers.push(Container {
                name,
                created,
                decision,
            });
        }
        Ok(containers)
    }

    fn start(&self, runtime: &FakeRuntime) -> Result<Option<PluginProcess>> {
        let Some(plugin) = &self.plugin else {
            return Ok(None);
        };
        let command = PluginCommand::on_socket(plugin, &self.args, runtime.socket_path())
            // Where the plugin is ours: say why, and take no port. Its flags win over these.
            .envs([("MOKKA_LOG_LEVEL", "debug"), ("MOKKA_NRI_HEALTH_ADDR", "")]);
        Ok(Some(command.spawn()?))
    }
}

/// Waits until a plugin is registered, or the one that was started has ended.
async fn registered(runtime: &FakeRuntime, process: Option<&mut PluginProcess>) -> Result<()> {
    let ended = async {
        match process {
            Some(process) => process.exited().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        registered = runtime.plugin_registered() => Ok(registered.map(drop)?),
        exit = ended => {
            let exit = exit?;
            Err(format!("the plugin ended, {}: {}", exit.status, exit.stderr.trim_end()).into())
        }
    }
}
