//! `fake-runtime check`.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::check::{Check, Group, Outcome, Samples, Subject};
use crate::pod::manifest;
use clap::builder::styling::Style;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::ErrorKind;
use serde::Serialize;

use super::asking::Asking;
use super::junit::{self, Case};
use super::plugins::{self, Plugins};
use super::show::{DIM, GREEN, RED, YELLOW};
use super::{Report, Result, Verdict};

const EXAMPLES: &str = "\
Examples:
  fake-runtime check --plugin ./my-plugin
  fake-runtime check --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime check --plugin ./10-my-plugin --config my-plugin.conf
  fake-runtime check --listen /tmp/nri.sock --only answers        # and start the plugin in a debugger
  fake-runtime check --plugin ./my-plugin --output junit > check.xml
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
    /// Only this check, or the checks of this group; may be given more than once
    #[arg(long, value_name = "CHECK", value_parser = checks())]
    only: Vec<Only>,
    #[command(flatten)]
    asking: Asking,
    /// Ask about the containers of this Pod manifest too; may be given more than once
    #[arg(long, value_name = "FILE")]
    pod: Vec<PathBuf>,
    /// text for people, json for one object a line, junit for CI
    #[arg(long, value_enum, default_value_t)]
    output: Report,
    #[command(flatten)]
    plugins: Plugins,
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
        if self.plugins.plugin.len() > 1 {
            let message = "one plugin is checked at a time";
            return Err(clap::Error::raw(ErrorKind::TooManyValues, message).into());
        }
        // Where it cannot be written, nothing can.
        let listening: fn(&Path) = match self.output {
            Report::Json => |socket| drop(plugins::say_json(&mut anstream::stdout(), socket)),
            _ => |socket| drop(plugins::say(&mut anstream::stdout(), socket)),
        };
        let subject = Subject::of(self.plugins.source()?)
            .listening(listening)
            .profile(self.asking.profile().unwrap_or_default())
            .samples(Samples::with(pods));
        super::block_on(async {
            let mut passed_any = false;
            let mut cases = Vec::new();
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
                    cases.push(case(*check, &outcome));
                    line(out, self.output, *check, &outcome)?;
                    out.flush()?;
                    if *check == Check::Registration && matches!(outcome, Outcome::Failed(_)) {
                        if self.output == Report::Text && made < checks.len() {
                            writeln!(
                                out,
                                "nothing else can be checked of a plugin that does not register"
                            )?;
                        }
                        self.junit(out, &cases)?;
                        return Ok(Verdict::Different);
                    }
                }
                let [passed, failed, skipped] = counts;
                passed_any |= passed > 0;
                if self.output == Report::Text && !checks.is_empty() {
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
            self.junit(out, &cases)?;
            // Where everything was skipped, nothing was shown.
            Ok(if passed_any {
                verdict
            } else {
                Verdict::Different
            })
        })
    }
}

impl Args {
    fn junit(&self, out: &mut dyn Write, cases: &[Case]) -> std::io::Result<()> {
        match self.output {
            Report::Junit => write!(out, "{}", junit::document("fake-runtime check", cases)),
            Report::Text | Report::Json => Ok(()),
        }
    }
}

fn case(check: Check, outcome: &Outcome) -> Case {
    Case {
        class: check.group().name().to_owned(),
        name: check.name().to_owned(),
        outcome: match outcome {
            Outcome::Passed(_) => junit::Outcome::Passed,
            Outcome::Failed(seen) => junit::Outcome::Failed(seen.clone()),
            Outcome::Skipped(why) => junit::Outcome::Skipped(why.clone()),
        },
    }
}

fn line(
    out: &mut dyn Write,
    output: Report,
    check: Check,
    outcome: &Outcome,
) -> std::io::Result<()> {
    if output == Report::Junit {
        return Ok(());
    }
    if output == Report::Json {
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
