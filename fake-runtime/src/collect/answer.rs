//! What a plugin that was asked came back with.

use std::fmt;

use nri_proto::api::ContainerAdjustment;

/// What came back from a plugin that was asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An adjustment, perhaps empty.
    Adjust(Box<ContainerAdjustment>),
    /// An error, which fails the container.
    Error {
        /// The name of the gRPC code: `Unknown`.
        code: String,
        /// What the plugin said.
        message: String,
    },
    /// Nothing, because it was too slow, or its connection broke; says which. The container is made without it.
    Lost(String),
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Adjust(adjustment) => write!(f, "adjusted {}", parts(adjustment)),
            Self::Error { code, message } => {
                write!(f, "answered with an error: {message} ({code})")
            }
            Self::Lost(why) => write!(f, "gave no answer: {why}"),
        }
    }
}

/// What is in an adjustment, in a few words.
fn parts(adjustment: &ContainerAdjustment) -> String {
    let devices = adjustment
        .linux
        .as_ref()
        .map_or(0, |linux| linux.devices.len());
    let parts: Vec<_> = [
        (adjustment.mounts.len(), "mount"),
        (adjustment.env.len(), "variable"),
        (devices, "device"),
        (adjustment.cdi_devices.len(), "CDI device"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, of)| format!("{number} {of}{}", if number == 1 { "" } else { "s" }))
    .collect();
    match (
        parts.is_empty(),
        *adjustment == ContainerAdjustment::default(),
    ) {
        (false, _) => parts.join(", "),
        (true, true) => "nothing".to_owned(),
        (true, false) => "something other than mounts, environment and devices".to_owned(),
    }
}
