//! What nri-plugin says in its log of a container that it decided about.

use serde::Deserialize;

/// One decision, as a line of the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LoggedDecision {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// `adjusted`, `unmodified`, `gated`, `refused` or `failed`.
    pub decision: String,
    /// Why.
    pub reason: String,
}

impl LoggedDecision {
    /// The decision in a line of a log in JSON, if it is about one. Decisions are logged at level debug.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_is_told_from_other_lines() {
        let line = r#"{"level":"debug","time":"2026-01-01T00:00:00.000Z","msg":"container decided","namespace":"default","pod":"p","container":"c","decision":"unmodified","reason":"opt-out annotation","mounts":0}"#;
        let decision = LoggedDecision::read(line).unwrap();
        assert_eq!(
            (&*decision.decision, &*decision.reason),
            ("unmodified", "opt-out annotation")
        );
        for other in [
            r#"{"level":"info","msg":"registered","namespace":"default"}"#,
            "not JSON",
        ] {
            assert_eq!(LoggedDecision::read(other), None);
        }
    }
}
