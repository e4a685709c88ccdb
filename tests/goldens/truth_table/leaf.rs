//! What a combination comes to.

use nri_plugin::decide::Outcome;
use nri_proto::api::ContainerAdjustment;
use prost::Message;

use crate::plugin::Answered;

/// The verdict of a container that gets something.
pub(crate) const ADJUSTED: &str = "adjusted";
/// The verdict of a container that would get something, if anything were staged.
pub(crate) const NOTHING: &str = "left alone: nothing to add";

/// An answer as far as it can be told from outside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Leaf {
    /// Whether the container gets something, and if not, why.
    pub(crate) verdict: String,
    /// The adjustment's bytes; none where there is no adjustment.
    pub(crate) adjustment: Vec<u8>,
    /// The warnings as they are logged.
    pub(crate) warnings: Vec<String>,
}

impl Leaf {
    /// What was answered.
    pub(crate) fn of(answered: Answered) -> Self {
        let verdict = match &answered.outcome {
            Outcome::Adjusted(_) => ADJUSTED.to_owned(),
            Outcome::Unmodified(reason) => format!("left alone: {}", reason.as_str()),
            Outcome::Gated { .. } => "left alone: the staging gate is closed".into(),
            Outcome::Refused(refusal) => format!("refused: {}", refusal.name()),
        };
        Self {
            verdict,
            adjustment: answered.adjustment.unwrap_or_default().encode_to_vec(),
            warnings: answered.warnings.iter().map(ToString::to_string).collect(),
        }
    }

    /// The adjustment.
    pub(crate) fn decoded(&self) -> ContainerAdjustment {
        ContainerAdjustment::decode(&*self.adjustment).unwrap()
    }

    /// Whether a decision about what is added was made at all.
    pub(crate) fn decided(&self) -> bool {
        self.verdict == ADJUSTED || self.verdict == NOTHING
    }
}
