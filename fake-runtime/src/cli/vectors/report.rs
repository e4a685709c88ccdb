//! What came of each row, and how many came out how.

use std::io::{self, Write};

use crate::applied::Failure;
use serde::Serialize;

use crate::cli::{self, Output};

/// What came of a row.
#[derive(Debug, Serialize)]
#[serde(tag = "outcome", content = "seen", rename_all = "lowercase")]
pub enum Outcome {
    /// As it should.
    Passed,
    /// With what differs.
    Failed(String),
    /// With why.
    Skipped(String),
}

impl From<Result<(), Failure>> for Outcome {
    fn from(outcome: Result<(), Failure>) -> Self {
        match outcome {
            Ok(()) => Self::Passed,
            Err(failure) => Self::Failed(failure.to_string()),
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// Prints rows and counts them.
#[derive(Debug)]
pub(super) struct Report {
    output: Output,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Report {
    pub(super) fn new(output: Output) -> Self {
        Self {
            output,
            passed: 0,
            failed: 0,
            skipped: 0,
        }
    }

    pub(super) fn row(
        &mut self,
        out: &mut dyn Write,
        id: &str,
        outcome: &Outcome,
    ) -> io::Result<()> {
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Skipped(_) => self.skipped += 1,
        }
        if self.output == Output::Json {
            serde_json::to_writer(&mut *out, &Line { id, outcome })?;
            return writeln!(out);
        }
        match outcome {
            Outcome::Passed => Ok(()),
            Outcome::Failed(seen) => {
                writeln!(out, "failed {id}")?;
                seen.lines().try_for_each(|line| writeln!(out, "  {line}"))
            }
            Outcome::Skipped(why) => writeln!(out, "skipped {id}: {why}"),
        }
    }

    /// The last line, and what the command ends with.
    pub(super) fn finish(self, out: &mut dyn Write) -> cli::Result {
        let Self {
            output,
            passed,
            failed,
            skipped,
        } = self;
        if output == Output::Text {
            writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
        }
        Ok(if failed == 0 {
            cli::Verdict::Same
        } else {
            cli::Verdict::Different
        })
    }
}
