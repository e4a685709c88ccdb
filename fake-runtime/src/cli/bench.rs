//! `fake-runtime bench`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use crate::bench::{Candidate, Cost, measure};
use crate::pod::{manifest, requests};
use crate::process::PluginCommand;
use crate::profile::Profile;
use crate::runtime::FakeRuntime;
use crate::scripted::ScriptedPlugin;
use nri_proto::api::CreateContainerRequest;
use serde_json::json;

use super::simulate::Simulate;
use super::{Output, Result, Verdict};

const EXAMPLES: &str = "\
Examples:
  fake-runtime bench --plugin ./my-plugin
  fake-runtime bench --plugin ./my-plugin --file pod.yaml --requests 100000 -- -nri-socket {socket}
  fake-runtime bench --plugin ./my-plugin --output json | jq .plugin.p99_us";

/// What is asked about where no file says.
const POD: &str = "{kind: Pod, metadata: {name: bench, annotations: {nvml-mock.nvidia.com/devices: 'true'}}, \
                   spec: {containers: [{name: main, image: busybox}]}}";

/// Measure what a plugin costs: latency, throughput, processor time for each answer, and memory.
///
/// Beside it stands the floor: a plugin of this program that does nothing, measured in turns with the other in the same
/// run. Requests are made one after the other, as containerd makes them. Measure a release build.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The plugin binary
    #[arg(long, value_name = "PATH")]
    plugin: PathBuf,
    /// Ask about the first container of this Pod manifest, recording or request
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How many requests are measured
    #[arg(long, value_name = "N", default_value = "10000")]
    requests: NonZeroUsize,
    /// text for people, json for one object
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    simulate: Simulate,
    /// The plugin's arguments; {socket} in them is the path of the NRI socket, and where none has it,
    /// --socket-path=PATH is appended
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let (profile, request) = self.request()?;
        super::block_on(async {
            let this = std::env::current_exe()?;
            let idle = ["idle-plugin".into(), "{socket}".into()];
            let candidates = [
                start(profile, &self.plugin, &self.args).await?,
                start(profile, &this, &idle).await?,
            ];
            let costs = measure(&candidates, &request, self.requests.get()).await?;
            let [plugin, floor] = &costs[..] else {
                return Err("two were measured".into());
            };
            match self.output {
                Output::Text => table(out, plugin, floor)?,
                Output::Json => writeln!(out, "{}", json!({ "plugin": plugin, "floor": floor }))?,
            }
            Ok(Verdict::Same)
        })
    }

    fn request(&self) -> Result<(&'static Profile, CreateContainerRequest)> {
        let (profile, all) = match &self.file {
            Some(file) => {
                let read = self.simulate.read(file)?;
                (read.profile, read.requests)
            }
            None => {
                let simulation = self.simulate.simulation()?;
                let pods = manifest::parse(POD)?;
                (simulation.profile, requests(&pods[0], &simulation)?)
            }
        };
        let first = all.into_iter().next();
        Ok((profile, first.ok_or("there is no container to ask about")?))
    }
}

async fn start(profile: &'static Profile, path: &Path, args: &[OsString]) -> Result<Candidate> {
    let runtime = FakeRuntime::builder().profile(profile).start().await?;
    let command = PluginCommand::on_socket(path, args, runtime.socket_path());
    let mut process = command.spawn()?;
    tokio::select! {
        registered = runtime.plugin_registered() => drop(registered?),
        exit = process.exited() => {
            return Err(format!("the plugin ended, {}", exit?).into());
        }
    }
    Ok(Candidate { runtime, process })
}

fn table(out: &mut dyn Write, plugin: &Cost, floor: &Cost) -> io::Result<()> {
    let mut row = |what: &str, of: fn(&Cost) -> f64, unit: &str| {
        writeln!(
            out,
            "{what:<22}{:>12.1} {unit:<4}{:>12.1} {unit}",
            of(plugin),
            of(floor)
        )
    };
    row("latency p50", |it| it.p50_us, "µs")?;
    row("latency p90", |it| it.p90_us, "µs")?;
    row("latency p99", |it| it.p99_us, "µs")?;
    row("latency p99.9", |it| it.p999_us, "µs")?;
    row("latency max", |it| it.max_us, "µs")?;
    row("throughput", |it| it.per_second, "/s")?;
    row("processor time", |it| it.cpu_us, "µs")?;
    let memory =
        |what: &str, plugin: u64, floor: u64| format!("{what:<22}{plugin:>12} KiB {floor:>12} KiB");
    writeln!(out, "{}", memory("memory", plugin.rss_kib, floor.rss_kib))?;
    writeln!(
        out,
        "{}",
        memory("memory at most", plugin.peak_rss_kib, floor.peak_rss_kib)
    )?;
    writeln!(
        out,
        "{} requests each; left the plugin, right the floor",
        plugin.requests
    )
}

/// A plugin that does nothing: the floor that `bench` measures.
#[derive(Debug, clap::Args)]
#[command(
    hide = true,
    after_help = "Examples:\n  fake-runtime idle-plugin /tmp/nri.sock"
)]
pub(super) struct IdlePlugin {
    /// The runtime's NRI socket
    socket: PathBuf,
}

impl IdlePlugin {
    pub(super) fn run(self) -> Result {
        // One thread, as few as a plugin can have: this is to cost as little as possible.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let plugin = ScriptedPlugin::new("10", "idle");
            plugin.connect(&self.socket).await?.closed().await;
            Ok(Verdict::Same)
        })
    }
}
