//! `fake-runtime vectors`.

mod report;
mod row;

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use fake_runtime::host::Host;
use fake_runtime::vectors::{PlayError, Player, Verdict};
use fake_runtime::{applied, jsonl};
use tokio::task::JoinHandle;

use super::{Output, Result, usage};
use report::Report;
use row::Row;

const EXAMPLES: &str = "\
Examples:
  fake-runtime vectors tests/vectors/*.jsonl.gz --plugin target/release/nri-plugin
  fake-runtime vectors cases.jsonl --only flag-overlay --plugin target/debug/nri-plugin
  fake-runtime vectors --host tests/applied/host.json tests/applied/*.jsonl.gz
  fake-runtime vectors cases.jsonl --plugin ./my-plugin --output json";

/// Replay recorded rows and compare what comes of them with what came then.
///
/// A row is either of two, told apart by its fields. A case has a command line, a staged tree and a request: it is
/// played over a real socket, with a plugin process, a socket and a directory of its own. Device nodes take root:
/// without it the cases that have some are skipped, by name. A row of applied adjustments has what plugins answered,
/// and the OCI spec before and after: it is played against the profile of its containerd, and needs no plugin.
///
/// Prints what differs, and as the last line how many passed, failed and were skipped. As JSON, every row's outcome.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files of one row a line, plain or gzipped
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The plugin binary; cases need it
    #[arg(long, value_name = "PATH")]
    plugin: Option<PathBuf>,
    /// What the node of the applied adjustments had: CDI specs, device numbers, mount propagation
    #[arg(long, value_name = "FILE")]
    host: Option<PathBuf>,
    /// Only rows whose id contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// How many cases are played at a time [default: two for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

/// What comes of a row, some time.
enum Playing {
    Applied(std::result::Result<(), applied::Failure>),
    Case(JoinHandle<std::result::Result<Verdict, PlayError>>),
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let mut rows = Vec::new();
        for file in &self.files {
            rows.extend(jsonl::read::<Row>(file)?);
        }
        rows.retain(|row| row.id().contains(&self.only));
        if self.plugin.is_none() && rows.iter().any(|row| matches!(row, Row::Case(_))) {
            usage(
                ErrorKind::MissingRequiredArgument,
                "there are cases among the rows: give --plugin",
            );
        }
        super::block_on(async {
            let mut report = Report::new(self.output);
            for (id, playing) in self.start(rows)? {
                let outcome = match playing {
                    Playing::Applied(outcome) => outcome.into(),
                    Playing::Case(playing) => playing.await??.into(),
                };
                report.row(out, &id, &outcome)?;
            }
            report.finish(out)
        })
    }

    /// Starts every row, in order; cases a few at a time.
    fn start(&self, rows: Vec<Row>) -> Result<Vec<(String, Playing)>> {
        let plugin = self
            .plugin
            .as_deref()
            .map(absolute)
            .transpose()?
            .unwrap_or_default();
        let player = Player::new(plugin);
        let player = self.jobs.map_or(player.clone(), |jobs| player.jobs(jobs));
        let host = self
            .host
            .as_deref()
            .map(read_host)
            .transpose()?
            .unwrap_or_default();
        let start = |row: Row| {
            let id = row.id().to_owned();
            let playing = match row {
                Row::Applied { row, .. } => Playing::Applied(applied::check(&row, &host)),
                Row::Case(case) => Playing::Case(player.start(*case)),
            };
            (id, playing)
        };
        Ok(rows.into_iter().map(start).collect())
    }
}

/// The plugin is started in another directory.
fn absolute(plugin: &Path) -> Result<PathBuf> {
    let absolute = plugin.canonicalize();
    Ok(
        absolute
            .map_err(|error| format!("cannot find the plugin {}: {error}", plugin.display()))?,
    )
}

fn read_host(path: &Path) -> Result<Host> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let host = serde_json::from_str(&text);
    Ok(host.map_err(|error| format!("{} describes no host: {error}", path.display()))?)
}
