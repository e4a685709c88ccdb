//! What became of telling a plugin.

use std::fmt;
use std::time::Duration;

use nri_proto::api::Event;

/// A plugin that was told of something, and how it took it.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The plugin, as `IDX-NAME`.
    pub plugin: String,
    /// Of what.
    pub event: Event,
    /// How it took it.
    pub heard: Heard,
    /// How long that took.
    pub latency: Duration,
}

/// How a plugin took what it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It answered.
    Well,
    /// It answered with an error; the plugins after it are not told any more.
    Error(String),
    /// It gave no answer, and is closed.
    Lost(String),
}

impl fmt::Display for Heard {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Well => out.write_str("answered"),
            Self::Error(why) => write!(out, "answered with an error: {why}"),
            Self::Lost(why) => write!(out, "gave no answer: {why}"),
        }
    }
}
