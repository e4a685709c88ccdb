//! `fake-runtime check`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use crate::check::{Check, Group, Outcome, Samples, Subject};
use crate::pod::manifest;
use clap::builder::styling::Style;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;

use super::asking::Asking;
use super::show::{DIM, GREEN, RED, YELLOW};
use super::{Output, Result, Verdict};

const EXAMPLES: &str = "\
Examples:
  fake-runtime check --plugin ./my-plugin
  fake-runtime check --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime check --plugin ./my-plugin --only conformance
  fake-runtime check --plugin ./my-plugin --only deadline --only restart --output json
  fake-runtime check --plugin ./my-plugin --pod pod-that-it-adjusts.yaml --runtime cri-o-1.37";

/// Check whether a plugin keeps to what a runtime expects of it.
///
/// Works for any NRI plugin, in whatever language. Each check starts a process and a runtime of its own. One line a
/// check: passed, failed with what was seen, or skipped with why. What fails of conformance is a bug: containerd does
/// just that. What fails of robustness is advice: no containerd is known to do it.
///
/// Exit status: 0 all passed, 1 a failure of conformance, 3 failures of robustness only.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The plugin binary
    #[arg(long, value_name = "PATH")]
    plugin: PathBuf,
    /// Only this check, or the checks of this group; may be given more than once
    #[arg(long, value_name = "CHECK", value_parser = checks())]
    only: Vec<Only>,
    #[command(flatten)]
    asking: Asking,
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
    group: Group,
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
        .profile(self.asking.profile().unwrap_or_default())
        .samples(Samples::with(pods));
        super::block_on(async {
            let mut passed_any = false;
            let mut verdict = Verdict::Same;
            for group in Group::ALL {
                let chosen = |check: &Check| {
                    let named = |only: &Only| only.names(*check);
                    check.group() == group && (self.only.is_empty() || self.only.iter().any(named))
                };
                let checks: Vec<Check> = Check::ALL.into_iter().filter(chosen).collect();
                let mut counts = [0, 0, 0];
                for (made, check) in (1..).zip(&checks) {
                    let outcome = check.run(&subject).await;
                    counts[match outcome {
                        Outcome::Passed(_) => 0,
                        Outcome::Failed(_) => 1,
                        Outcome::Skipped(_) => 2,
                    }] += 1;
                    line(out, self.output, *check, &outcome)?;
                    out.flush()?;
                    if *check == Check::Registration && matches!(outcome, Outcome::Failed(_)) {
                        if self.output == Output::Text && made < checks.len() {
                            writeln!(
                                out,
                                "nothing else can be checked of a plugin that does not register"
                            )?;
                        }
                        return Ok(Verdict::Different);
                    }
                }
                let [passed, failed, skipped] = counts;
                passed_any |= passed > 0;
                if self.output == Output::Text && !checks.is_empty() {
                    writeln!(
                        out,
                        "{}: {passed} passed, {failed} failed, {skipped} skipped",
                        group.name()
                    )?;
                }
                verdict = match (group, failed) {
                    (_, 0) => verdict,
                    (Group::Conformance, _) => Verdict::Different,
                    (Group::Robustness, _) if verdict == Verdict::Same => Verdict::Advice,
                    (Group::Robustness, _) => verdict,
                };
            }
            // Where everything was skipped, nothing was shown.
            Ok(if passed_any {
                verdict
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
                group: check.group(),
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

/// What is chosen to be checked.
#[derive(Clone, Copy, Debug)]
enum Only {
    Check(Check),
    Group(Group),
}

impl Only {
    fn names(self, check: Check) -> bool {
        match self {
            Self::Check(one) => one == check,
            Self::Group(group) => group == check.group(),
        }
    }
}

fn checks() -> impl clap::builder::TypedValueParser<Value = Only> {
    let groups = Group::ALL.map(|group| (group.name(), Only::Group(group)));
    let checks = Check::ALL.map(|check| (check.name(), Only::Check(check)));
    let all: Vec<_> = groups.into_iter().chain(checks).collect();
    let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).map(move |chosen| {
        let named = all.iter().find(|(name, _)| *name == chosen);
        named.expect("the parser takes no other name").1
    })
}
