//! What plugins did, as a runtime sees it.

use std::fmt;

use crate::create::Answer;

/// One thing that a plugin did.
///
/// A plugin is named as `IDX-NAME`; before its registration it is `connection N`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Received {
    /// Somebody connected.
    Connected {
        /// Who.
        plugin: String,
    },
    /// A plugin gave a name and an index, and was accepted.
    Registered {
        /// Who.
        plugin: String,
    },
    /// A connection did not become a plugin, or a plugin was dropped.
    Rejected {
        /// Who.
        plugin: String,
        /// Why, as containerd's log says it.
        why: String,
    },
    /// A plugin answered Configure.
    Configured {
        /// Who.
        plugin: String,
        /// The events that it subscribed to, event n being bit n-1.
        events: i32,
    },
    /// A plugin answered all parts of Synchronize.
    Synchronized {
        /// Who.
        plugin: String,
        /// How many parts there were.
        parts: usize,
    },
    /// A plugin was asked about a container, and answered or did not.
    CreateContainer {
        /// Who.
        plugin: String,
        /// The container, as `namespace/pod/container`.
        container: String,
        /// What came of it.
        answer: Answer,
    },
    /// A plugin asked for containers to be updated. The fake runtime answers that it did.
    UpdateContainers {
        /// Who.
        plugin: String,
        /// How many.
        containers: usize,
    },
    /// A plugin called something that a runtime does not have.
    UnknownCall {
        /// Who.
        plugin: String,
        /// What, as `service/method`.
        method: String,
    },
    /// A plugin answered what it was not asked, or twice. It is ignored, as containerd does.
    StrayAnswer {
        /// Who.
        plugin: String,
        /// The stream id of the answer.
        stream: u32,
    },
    /// A connection ended.
    Closed {
        /// Whose.
        plugin: String,
        /// Why.
        why: String,
    },
}

impl Received {
    /// Who did it.
    #[must_use]
    pub fn plugin(&self) -> &str {
        match self {
            Self::Connected { plugin }
            | Self::Registered { plugin }
            | Self::Rejected { plugin, .. }
            | Self::Configured { plugin, .. }
            | Self::Synchronized { plugin, .. }
            | Self::CreateContainer { plugin, .. }
            | Self::UpdateContainers { plugin, .. }
            | Self::UnknownCall { plugin, .. }
            | Self::StrayAnswer { plugin, .. }
            | Self::Closed { plugin, .. } => plugin,
        }
    }
}

impl fmt::Display for Received {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ", self.plugin())?;
        match self {
            Self::Connected { .. } => write!(out, "connected"),
            Self::Registered { .. } => write!(out, "registered"),
            Self::Rejected { why, .. } => write!(out, "was rejected: {why}"),
            Self::Configured { events, .. } => write!(out, "subscribed to events {events:#x}"),
            Self::Synchronized { parts, .. } => {
                write!(out, "synchronized in {}", count(*parts, "part"))
            }
            Self::CreateContainer {
                container, answer, ..
            } => {
                write!(out, "was asked about {container} and {answer}")
            }
            Self::UpdateContainers { containers, .. } => {
                write!(out, "updated {}", count(*containers, "container"))
            }
            Self::UnknownCall { method, .. } => {
                write!(out, "called {method}, which no runtime has")
            }
            Self::StrayAnswer { stream, .. } => {
                write!(out, "answered stream {stream}, on which nothing was asked")
            }
            Self::Closed { why, .. } => write!(out, "is disconnected: {why}"),
        }
    }
}

/// `0 devices`, `1 device`.
pub(super) fn count(number: usize, of: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {of}{plural}")
}
