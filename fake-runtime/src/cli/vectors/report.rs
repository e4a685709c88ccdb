//! What differs, and how many did.

use std::io::{self, Write};

use fake_runtime::applied::Failure;
use fake_runtime::vectors::{Mismatch, Verdict};

use crate::cli;

/// How many rows came out how.
#[derive(Debug, Default)]
pub(super) struct Totals {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Totals {
    pub(super) fn case(
        &mut self,
        out: &mut dyn Write,
        id: &str,
        verdict: Verdict,
    ) -> io::Result<()> {
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
                let heads = format!("expected {expected}\ngot {got}\n");
                self.failure(out, id, &(heads + diff.as_deref().unwrap_or_default()))?;
            }
        }
        Ok(())
    }

    pub(super) fn applied(
        &mut self,
        out: &mut dyn Write,
        id: &str,
        outcome: Result<(), Failure>,
    ) -> io::Result<()> {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(failure) => self.failure(out, id, &failure.to_string())?,
        }
        Ok(())
    }

    /// The last line, and what the command ends with.
    pub(super) fn finish(self, out: &mut dyn Write) -> cli::Result {
        let Self {
            passed,
            failed,
            skipped,
        } = self;
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")?;
        Ok(if failed == 0 {
            cli::Verdict::Same
        } else {
            cli::Verdict::Different
        })
    }

    fn failure(&mut self, out: &mut dyn Write, id: &str, text: &str) -> io::Result<()> {
        self.failed += 1;
        writeln!(out, "failed {id}")?;
        text.lines().try_for_each(|line| writeln!(out, "  {line}"))
    }
}
