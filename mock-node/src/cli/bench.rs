//! `mock-node bench`.

mod case;
mod growth;
mod table;

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use fake_runtime::bench::{Cost, Floor, Plan, Subject, measure};
use fake_runtime::cli::{Output, Result, Verdict};
use fake_runtime::profile::Profile;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use case::{Case, Node};

const EXAMPLES: &str = "\
Examples:
  mock-node bench --plugin target/release/nri-plugin
  mock-node bench --plugin ./new --against ./old --plot growth.svg
  mock-node bench --plugin target/release/nri-plugin --only raw --output json";

/// Measure nri-plugin beside floors of blocking code, and hold it against its goals.
///
/// The goals are ratios to a floor: a process that reads the same requests, makes the same file system calls where the
/// case says so, and gives an answer as long. All take turns in the same run, the command itself and the processes on one
/// core unless the case says otherwise. Each round has a median, and a ratio is that of the least ones, because noise only
/// ever adds. Use a quiet machine and a release build.
///
/// Exit status 1 where a goal is missed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The nri-plugin binary
    #[arg(long, value_name = "PATH")]
    plugin: PathBuf,
    /// Another build, or the program that is replaced, to measure beside it with the same command line
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Only cases whose name has this text
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// In so many rounds each measures its requests: the more there are, the less a burst of noise counts
    #[arg(long, value_name = "N", default_value = "21", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Write a plot of the time by the number of staged nodes (SVG)
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// text for people, json for one object
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// What one case cost.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    case: Case,
    plugin: Cost,
    floor: Cost,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<Cost>,
    ratio: f64,
    /// From exec until the runtime has synchronized.
    registered_us: f64,
    idle_kib: u64,
    met: Option<bool>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let all = sched_getaffinity(None)?;
        let mut cases = case::all();
        cases.retain(|case| case.name.contains(&self.only));
        if cases.is_empty() {
            return Err(format!("no case has {:?} in its name", self.only).into());
        }
        let mut rows = Vec::new();
        for case in cases {
            pin(&all, case.pinned)?;
            let row = self.row(case)?;
            if self.output == Output::Text {
                table::row(out, &row, rows.is_empty())?;
                out.flush()?;
            }
            rows.push(row);
        }
        pin(&all, false)?;
        let totals = table::totals(&rows);
        match self.output {
            Output::Text => table::end(out, &totals)?,
            Output::Json => {
                let object = serde_json::json!({ "cases": rows, "totals": totals });
                writeln!(out, "{object}")?;
            }
        }
        if let Some(plot) = &self.plot {
            fs::write(plot, growth::plot(&rows))
                .map_err(|error| format!("cannot write {}: {error}", plot.display()))?;
        }
        let mut met = rows.iter().map(|row| row.met);
        let all_met = met.all(|met| met != Some(false)) && totals.iter().all(|total| total.met);
        Ok(if all_met {
            Verdict::Same
        } else {
            Verdict::Different
        })
    }

    fn row(&self, case: Case) -> Result<Row> {
        let profile = <&Profile>::default();
        let node = Node::stage(&case)?;
        let flags: Vec<OsString> = node.flags.iter().map(OsString::from).collect();
        let mut plugin = Subject::plugin(&self.plugin, &flags, profile)?;
        let (idle_kib, _) = plugin.memory()?;
        let registered_us = plugin.registered_after.as_secs_f64() * 1e6;
        let floor = Floor {
            answer_length: plugin.answer_length(&node.request)?,
            calls: node.calls.clone(),
        };
        let floor = Subject::floor(&std::env::current_exe()?, &floor, profile)?;
        let mut subjects = vec![plugin, floor];
        if let Some(against) = &self.against {
            subjects.push(Subject::plugin(against, &flags, profile)?);
        }
        let plan = Plan {
            rounds: self.rounds,
            requests: case.requests,
            gap: Duration::from_millis(case.gap_ms),
        };
        let mut costs = measure(&mut subjects, &node.request, &plan)?.into_iter();
        let (Some(plugin), Some(floor)) = (costs.next(), costs.next()) else {
            return Err("two are measured".into());
        };
        let ratio = plugin.ratio_to(&floor);
        Ok(Row {
            met: case.goal.map(|goal| ratio <= goal),
            against: costs.next(),
            case,
            plugin,
            floor,
            ratio,
            registered_us,
            idle_kib,
        })
    }
}

/// Keeps this thread, and each process that it starts, on one of the cores, or lets go of it.
fn pin(all: &CpuSet, pinned: bool) -> std::io::Result<()> {
    let mut set = *all;
    if pinned && let Some(core) = (0..CpuSet::MAX_CPU).rev().find(|core| all.is_set(*core)) {
        set = CpuSet::new();
        set.set(core);
    }
    Ok(sched_setaffinity(None, &set)?)
}
