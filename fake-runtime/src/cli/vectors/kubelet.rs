//! Pods with what a kubelet made of them.

use std::io::Write;
use std::path::Path;

use super::report::{Outcome, Report};
use crate::cli::Result;
use crate::pod::cases;

/// Compares every step of every case in the directory whose id contains `only`.
pub(super) fn check(dir: &Path, only: &str, mut report: Report, out: &mut dyn Write) -> Result {
    for folder in cases::open(dir)? {
        for name in folder.names()? {
            let steps = folder.check(&name)?;
            for step in steps.iter().filter(|step| step.id.contains(only)) {
                report.row(out, &step.id, &step.outcome.clone().into())?;
            }
        }
    }
    report.finish(out)
}

impl From<cases::Outcome> for Outcome {
    fn from(outcome: cases::Outcome) -> Self {
        match outcome {
            cases::Outcome::Equal => Self::Passed,
            cases::Outcome::Different(fields) => Self::Failed(fields.join("\n")),
            cases::Outcome::NotRecorded(why) => Self::Skipped(why),
        }
    }
}
