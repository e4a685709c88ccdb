//! `fake-runtime bench`.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use nri_proto::api::CreateContainerRequest;
use serde_json::json;

use super::simulate::Simulate;
use super::{Output, Result, Verdict};
use crate::bench::{self, Cost, Floor, Plan, Subject, measure};
use crate::pod::{manifest, requests};
use crate::profile::Profile;

const EXAMPLES: &str = "\
Examples:
  fake-runtime bench --plugin ./my-plugin
  fake-runtime bench --plugin ./my-plugin --file pod.yaml --requests 100000 -- -nri-socket {socket}
  fake-runtime bench --plugin ./my-plugin --output json | jq .plugin.p99_us";

/// What is asked about where no file says.
const POD: &str =
    "{kind: Pod, metadata: {name: bench}, spec: {containers: [{name: main, image: busybox}]}}";

/// In so many rounds the requests are made.
const ROUNDS: u32 = 10;

/// Measure what a plugin costs: latency, throughput, processor time for each answer, and memory.
///
/// Beside it stands the floor: a process that reads the same requests and gives as long an answer without a thought,
/// measured in turns with the plugin in the same run. Requests are made one after the other, as containerd makes them.
/// Measure a release build.
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
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..))]
    requests: u32,
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
        let mut plugin = Subject::plugin(&self.plugin, &self.args, profile)?;
        let floor = Floor {
            answer_length: plugin.answer_length(&request)?,
            calls: Vec::new(),
        };
        let floor = Subject::floor(&std::env::current_exe()?, &floor, profile)?;
        let plan = Plan {
            rounds: ROUNDS,
            requests: self.requests.div_ceil(ROUNDS),
            gap: Duration::ZERO,
        };
        let costs = measure(&mut [plugin, floor], &request, &plan)?;
        let [plugin, floor] = &costs[..] else {
            return Err("two were measured".into());
        };
        match self.output {
            Output::Text => table(out, plugin, floor)?,
            Output::Json => writeln!(out, "{}", json!({ "plugin": plugin, "floor": floor }))?,
        }
        Ok(Verdict::Same)
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
        "{} requests each; left the plugin, right the floor: {:.2} times as long",
        plugin.requests,
        plugin.ratio_to(floor)
    )
}

/// Serve the floor that `bench` measures.
#[derive(Debug, clap::Args)]
pub struct ServeFloor {
    /// The runtime's NRI socket
    socket: PathBuf,
    #[command(flatten)]
    floor: Floor,
}

impl ServeFloor {
    /// Serves it until the runtime is gone.
    ///
    /// # Errors
    ///
    /// There is no runtime at the socket.
    pub fn run(&self) -> Result {
        bench::serve_floor(&self.socket, &self.floor)?;
        Ok(Verdict::Same)
    }
}
