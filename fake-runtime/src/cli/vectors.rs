//! `fake-runtime vectors`.

use std::fmt;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fake_runtime::jsonl;
use fake_runtime::vectors::{Case, Mismatch, PlayError, play};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::Result;

const EXAMPLES: &str = "\
Examples:
  fake-runtime vectors tests/vectors/*.jsonl.gz --plugin target/release/nri-plugin
  fake-runtime vectors cases.jsonl --only flag-overlay --plugin target/debug/nri-plugin";

/// Replay cases over a real socket and compare the plugin's answers with the expected ones.
///
/// Each case has a plugin process, a socket and a staged tree of its own. Device nodes take root: without it the
/// cases that have some are skipped, by name. Prints what differs, and as the last line how many passed, failed and
/// were skipped.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Files of one case a line, plain or gzipped
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The plugin binary
    #[arg(long, value_name = "PATH")]
    plugin: PathBuf,
    /// Only cases whose id contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// How many cases are played at a time [default: two for each processor]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let mut cases = Vec::new();
        for file in &self.files {
            cases.extend(jsonl::read::<Case>(file)?);
        }
        cases.retain(|case| case.id.contains(&self.only));
        let jobs = self.jobs.map_or_else(default_jobs, NonZeroUsize::get);
        super::block_on(async {
            let mut totals = Totals::default();
            for (id, playing) in start(cases, &self.plugin.canonicalize()?, jobs) {
                totals.count(out, &id, playing.await??)?;
            }
            writeln!(out, "{totals}")?;
            Ok(if totals.failed == 0 {
                super::Verdict::Same
            } else {
                super::Verdict::Different
            })
        })
    }
}

type Verdict = fake_runtime::vectors::Verdict;
type Playing = JoinHandle<std::result::Result<Verdict, PlayError>>;

/// Starts every case, `jobs` of them at a time.
fn start(cases: Vec<Case>, plugin: &Path, jobs: usize) -> Vec<(String, Playing)> {
    let permits = Arc::new(Semaphore::new(jobs));
    let start = |case: Case| {
        let (id, permits, plugin) = (case.id.clone(), permits.clone(), plugin.to_owned());
        let playing = tokio::spawn(async move {
            // Fails only where the semaphore is closed, which nobody does.
            let _permit = permits.acquire().await;
            play(&case, &plugin).await
        });
        (id, playing)
    };
    cases.into_iter().map(start).collect()
}

fn default_jobs() -> usize {
    2 * std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

#[derive(Debug, Default)]
struct Totals {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Totals {
    fn count(&mut self, out: &mut dyn Write, id: &str, verdict: Verdict) -> std::io::Result<()> {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Skipped(why) => {
                self.skipped += 1;
                writeln!(out, "skipped {id}: {why}")?;
            }
            Verdict::Failed(Mismatch {
                expected,
                got,
                diff,
            }) => {
                self.failed += 1;
                writeln!(out, "failed {id}")?;
                writeln!(out, "  expected {expected}")?;
                writeln!(out, "  got {got}")?;
                for line in diff.iter().flat_map(|diff| diff.lines()) {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        write!(out, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}
