//! `fake-runtime check`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use crate::check::{Check, Outcome, Samples, Subject};
use crate::pod::manifest;
use crate::profile::Profile;
use clap::builder::styling::Style;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;

use super::show::{DIM, GREEN, RED, YELLOW};
use super::{Output, Result, Verdict, profile};

const EXAMPLES: &str = "\
Examples:
  fake-runtime check --plugin ./my-plugin
  fake-runtime check --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime check --plugin ./my-plugin --only deadline --only restart --output json
  fake-runtime check --plugin ./my-plugin --pod pod-that-it-adjusts.yaml --containerd 2.3";

/// Check whether a plugin keeps to what a runtime expects of it.
///
/// Works for any NRI plugin, in whatever language. Each check starts a process and a runtime of its own. One line a
/// check: passed, failed with what was seen, or skipped with why, and as the last line how many.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The plugin binary
    #[arg(long, value_name = "PATH")]
    plugin: PathBuf,
    /// Only this check; may be given more than once
    #[arg(long, value_name = "CHECK", value_parser = checks())]
    only: Vec<Check>,
    /// The containerd that asks: a version, or HEAD
    #[arg(long, value_name = "VERSION", default_value = "2.1", value_parser = profile)]
    containerd: &'static Profile,
    /// Ask about the containers of this Pod manifest too; may be given more than once
    #[arg(long, value_name = "FILE")]
    pod: Vec<PathBuf>,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// The plugin's arguments; {socket} in them is the path of the NRI socket, and where none has it,
    /// --socket-path=PATH is appended
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<OsString>,
}

#[derive(Serialize)]
struct Line<'a> {
    check: &'static str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let mut pods = Vec::new();
        for file in &self.pod {
            pods.extend(manifest::read(file)?);
        }
        let subject = Subject::new(self.plugin.canonicalize().map_err(|error| {
            format!("cannot find the plugin {}: {error}", self.plugin.display())
        })?)
        .args(self.args)
        .profile(self.containerd)
        .samples(Samples::with(pods));
        let chosen = |check: &&Check| self.only.is_empty() || self.only.contains(check);
        super::block_on(async {
            let mut counts = [0, 0, 0];
            for check in Check::ALL.iter().filter(chosen) {
                let outcome = check.run(&subject).await;
                counts[match outcome {
                    Outcome::Passed(_) => 0,
                    Outcome::Failed(_) => 1,
                    Outcome::Skipped(_) => 2,
                }] += 1;
                line(out, self.output, *check, &outcome)?;
                out.flush()?;
            }
            let [passed, failed, skipped] = counts;
            if self.output == Output::Text {
                writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
            }
            // Where everything was skipped, nothing was shown.
            Ok(if failed == 0 && passed > 0 {
                Verdict::Same
            } else {
                Verdict::Different
            })
        })
    }
}

fn line(
    out: &mut dyn Write,
    output: Output,
    check: Check,
    outcome: &Outcome,
) -> std::io::Result<()> {
    if output == Output::Json {
        serde_json::to_writer(
            &mut *out,
            &Line {
                check: check.name(),
                outcome,
            },
        )?;
        return writeln!(out);
    }
    let (word, style, seen) = match outcome {
        Outcome::Passed(seen) => ("passed", GREEN, seen),
        Outcome::Failed(seen) => ("failed", RED, seen),
        Outcome::Skipped(why) => ("skipped", YELLOW, why),
    };
    let seen_style = if word == "failed" { Style::new() } else { DIM };
    writeln!(
        out,
        "{style}{word:<7}{style:#}  {check:<17}  {seen_style}{seen}{seen_style:#}"
    )
}

fn checks() -> impl clap::builder::TypedValueParser<Value = Check> {
    PossibleValuesParser::new(Check::ALL.map(Check::name)).map(|name| {
        let named = |check: &Check| check.name() == name;
        Check::ALL
            .into_iter()
            .find(named)
            .expect("the parser takes no other name")
    })
}
