//! `fake-runtime vectors`.

mod kubelet;
mod report;
mod row;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::{Output, Result};
use crate::host::Host;
use crate::profile::Profile;
use crate::{applied, jsonl, sent};
use report::Report;

pub use report::Outcome;
pub use row::Row;

const EXAMPLES: &str = "\
Examples:
  fake-runtime vectors --host tests/applied/host.json tests/applied/*.jsonl.gz
  fake-runtime vectors tests/recorded/requests-*.jsonl.gz
  fake-runtime vectors rows.jsonl --only 2.3.4/ --output json
  fake-runtime vectors --kubelet cases";

/// The tool that plays cases. It lies beside this one.
const CASES_TOOL: &str = "mock-node";

/// Replay recorded rows and compare what comes of them with what came then.
///
/// A row of applied adjustments has what plugins answered, and the OCI spec before and after: it is played against the
/// profile of its runtime, and needs no plugin. A recorded request is held against that profile too. Where a row is a case, with a command line, a staged tree and a
/// request, everything is handed over to `mock-node vectors`.
///
/// Prints what differs, and as the last line how many passed, failed and were skipped. As JSON, every row's outcome.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Files of one row a line, plain or gzipped
    #[arg(required_unless_present = "kubelet", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// A directory of Pods with what a kubelet and containerd made of them: a node.json, an objects.yaml, and for each
    /// case a directory with pod.yaml, cri.json and requests.jsonl; or a directory of such
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "plugin", "host", "jobs"])]
    kubelet: Option<PathBuf>,
    /// The plugin binary; cases need it
    #[arg(long, value_name = "PATH")]
    pub plugin: Option<PathBuf>,
    /// What the node of the applied adjustments had: CDI specs, device numbers, mount propagation
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    /// Only rows whose id contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// How many cases are played at a time [default: two for each processor]
    #[arg(long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

impl Args {
    /// Plays the rows, or hands them over where there are cases among them.
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        if let Some(checked) = self.check_kubelet(out) {
            return checked;
        }
        // Every case is started before the first row is reported: nothing has been printed yet.
        let hand_over = |_: IgnoredAny| std::future::ready(Err(hand_over()));
        super::block_on(self.play(out, self.rows()?, hand_over))
    }

    /// Compares what a kubelet made of Pods, where that is asked for.
    pub fn check_kubelet(&self, out: &mut dyn Write) -> Option<Result> {
        let dir = self.kubelet.as_deref()?;
        let report = Report::new(self.output);
        Some(kubelet::check(dir, &self.only, report, out))
    }

    /// The rows that are asked for.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or holds something else.
    pub fn rows<C: DeserializeOwned>(&self) -> Result<Vec<Row<C>>> {
        let mut rows = Vec::new();
        for file in &self.files {
            let mut of_file = jsonl::read::<Row<C>>(file)?;
            Row::told(&mut of_file);
            rows.extend(of_file);
        }
        rows.retain(|row| row.id().contains(&self.only));
        Ok(rows)
    }

    /// Plays rows, and reports in order what comes of them. Cases are played by `start`, which is called for all of
    /// them first.
    ///
    /// # Errors
    ///
    /// A case cannot be played, or the output not written.
    pub async fn play<C, P: Future<Output = Result<Outcome>>>(
        &self,
        out: &mut dyn Write,
        rows: Vec<Row<C>>,
        start: impl Fn(C) -> P,
    ) -> Result {
        let host = self.host.as_deref().map(read_host).transpose()?;
        let mut report = Report::new(self.output);
        let playing: Vec<_> = rows
            .into_iter()
            .map(|row| match row {
                Row::Applied { id, row } => (id, Playing::Played(applied(&row, host.as_ref()))),
                Row::Sent { id, row, profile } => (id, Playing::Played(sent(&row, profile))),
                Row::Case { id, case } => (id, Playing::Case(start(case))),
            })
            .collect();
        for (id, playing) in playing {
            let outcome = match playing {
                Playing::Played(outcome) => outcome,
                Playing::Case(playing) => playing.await?,
            };
            report.row(out, &id, &outcome)?;
        }
        report.finish(out)
    }
}

/// What comes of a row, some time.
enum Playing<P> {
    Played(Outcome),
    Case(P),
}

fn applied(row: &Value, host: Option<&Host>) -> Outcome {
    match host {
        Some(host) => applied::check(row, host).into(),
        None if applied::needs_host(row) => {
            Outcome::Skipped("what comes of it depends on the node: give --host".to_owned())
        }
        None => applied::check(row, &Host::default()).into(),
    }
}

fn sent(row: &Value, profile: Option<&'static Profile>) -> Outcome {
    match profile.map(|profile| sent::check(row, profile)) {
        Some(Ok(())) => Outcome::Passed,
        Some(Err(failure)) => Outcome::Failed(failure.to_string()),
        None => Outcome::Skipped("no Configure before it says whose request it is".to_owned()),
    }
}

/// Becomes the tool that plays cases, with the same arguments. Returns only where that cannot be.
fn hand_over() -> Box<dyn std::error::Error + Send + Sync> {
    let tool = match std::env::current_exe() {
        Ok(this) => this.with_file_name(CASES_TOOL),
        Err(error) => return error.into(),
    };
    let error = Command::new(&tool).args(std::env::args_os().skip(1)).exec();
    format!(
        "there are cases among the rows, which {CASES_TOOL} plays: cannot start {}: {error}",
        tool.display()
    )
    .into()
}

fn read_host(path: &Path) -> Result<Host> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let host = serde_json::from_str(&text);
    Ok(host.map_err(|error| format!("{} describes no host: {error}", path.display()))?)
}
