//! What a test expects plugins to do, and the report where they did not.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use super::hub::report;
use super::received::Received;

/// Something that plugins are expected to do.
///
/// ```
/// use fake_runtime::runtime::{Expectation, Received};
///
/// let registers_once =
///     Expectation::new("a registration", |it| matches!(it, Received::Registered { .. })).times(1..=1);
/// ```
pub struct Expectation {
    named: String,
    matches: Box<dyn Fn(&Received) -> bool + Send + Sync>,
    times: (Bound<usize>, Bound<usize>),
}

impl Expectation {
    /// Expects at least one thing that `matches`. `named` says in the report what that is.
    pub fn new(
        named: impl Into<String>,
        matches: impl Fn(&Received) -> bool + Send + Sync + 'static,
    ) -> Self {
        let times = (Bound::Included(1), Bound::Unbounded);
        Self {
            named: named.into(),
            matches: Box::new(matches),
            times,
        }
    }

    /// Expects as many: `1..=1`, `2..`, `0..=0`.
    #[must_use]
    pub fn times(self, times: impl RangeBounds<usize>) -> Self {
        Self {
            times: (times.start_bound().cloned(), times.end_bound().cloned()),
            ..self
        }
    }

    /// What is amiss, if anything.
    fn judge(&self, received: &[Received]) -> Option<String> {
        let times = received
            .iter()
            .filter(|received| (self.matches)(received))
            .count();
        (!self.times.contains(&times)).then(|| {
            format!(
                "{}: expected {}, received {times}",
                self.named,
                self.expected()
            )
        })
    }

    fn expected(&self) -> String {
        let from = match self.times.0 {
            Bound::Included(from) => from,
            Bound::Excluded(before) => before + 1,
            Bound::Unbounded => 0,
        };
        let to = match self.times.1 {
            Bound::Included(to) => Some(to),
            Bound::Excluded(after) => Some(after.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        match to {
            Some(to) if to == from => format!("{to}"),
            Some(to) if from == 0 => format!("at most {to}"),
            Some(to) => format!("{from} to {to}"),
            None => format!("at least {from}"),
        }
    }
}

impl fmt::Debug for Expectation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Expectation({}: {})", self.named, self.expected())
    }
}

/// Expectations that were not met, with everything that was received.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plugins did not do what was expected:\n  {}\n{report}", .amiss.join("\n  "))]
pub struct Unmet {
    amiss: Vec<String>,
    report: String,
}

pub(super) fn judge(expectations: &[Expectation], received: &[Received]) -> Result<(), Unmet> {
    let amiss: Vec<_> = expectations
        .iter()
        .filter_map(|it| it.judge(received))
        .collect();
    if amiss.is_empty() {
        Ok(())
    } else {
        Err(Unmet {
            amiss,
            report: report(received),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(times: impl RangeBounds<usize>) -> Expectation {
        Expectation::new("a connection", |it| {
            matches!(it, Received::Connected { .. })
        })
        .times(times)
    }

    fn received() -> Vec<Received> {
        vec![
            Received::Connected {
                plugin: "connection 1".to_owned(),
            },
            Received::Closed {
                plugin: "connection 1".to_owned(),
                why: "it left".to_owned(),
            },
        ]
    }

    #[test]
    fn the_report_lists_what_was_expected_and_everything_received() {
        let unmet = judge(
            &[connections(2..), connections(1..=1), connections(..1)],
            &received(),
        );
        assert_eq!(
            unmet.unwrap_err().to_string(),
            "the plugins did not do what was expected:\n  \
             a connection: expected at least 2, received 1\n  \
             a connection: expected 0, received 1\n\
             received:\n   \
             1. connection 1 connected\n   \
             2. connection 1 is disconnected: it left"
        );
    }

    #[test]
    fn nothing_received_is_said_too() {
        let unmet = judge(&[connections(1..=2)], &[]).unwrap_err().to_string();
        assert_eq!(
            unmet,
            "the plugins did not do what was expected:\n  \
             a connection: expected 1 to 2, received 0\n\
             received: nothing"
        );
    }
}
