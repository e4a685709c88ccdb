//! What plugins did, as a runtime sees it.

use std::fmt;

use nri_proto::api::Event;

use super::running::Updated;
use super::told::Heard;
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
    /// A plugin was told of something else, or asked about it.
    Told {
        /// Who.
        plugin: String,
        /// Of what.
        event: Event,
        /// How it took it.
        heard: Heard,
    },
    /// A plugin changed containers of its own accord.
    UpdateContainers {
        /// Who.
        plugin: String,
        /// What became of each.
        updates: Vec<Updated>,
        /// The containers that it wants evicted, by id. containerd does not read that.
        evictions: Vec<String>,
    },
    /// A plugin changed containers in its answer to Synchronize.
    Updates {
        /// Who.
        plugin: String,
        /// What became of each.
        updates: Vec<Updated>,
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
            | Self::Told { plugin, .. }
            | Self::UpdateContainers { plugin, .. }
            | Self::Updates { plugin, .. }
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
            Self::Synchronized { parts: 0, .. } => {
                write!(out, "was admitted without being synchronized")
            }
            Self::Synchronized { parts, .. } => {
                write!(out, "synchronized in {}", count(*parts, "part"))
            }
            Self::CreateContainer {
                container, answer, ..
            } => {
                write!(out, "was asked about {container} and {answer}")
            }
            Self::Told { event, heard, .. } => {
                write!(out, "was told of {} and {heard}", event.as_str_name())
            }
            Self::UpdateContainers {
                updates, evictions, ..
            } => {
                write!(out, "changed {}", count(updates.len(), "container"))?;
                write_fates(out, updates)?;
                if !evictions.is_empty() {
                    let evicted = count(evictions.len(), "container");
                    write!(out, ", and wants {evicted} evicted, which is ignored")?;
                }
                Ok(())
            }
            Self::Updates { updates, .. } => {
                write!(
                    out,
                    "changed {} while it was synchronized",
                    count(updates.len(), "container")
                )?;
                write_fates(out, updates)
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

/// `: ID applied, ID failed`.
fn write_fates(out: &mut fmt::Formatter<'_>, updates: &[Updated]) -> fmt::Result {
    for (
        number,
        Updated {
            container, fate, ..
        },
    ) in updates.iter().enumerate()
    {
        let separator = if number == 0 { ": " } else { ", " };
        write!(out, "{separator}{container} {fate}")?;
    }
    Ok(())
}

/// `0 devices`, `1 device`.
pub(super) fn count(number: usize, of: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {of}{plural}")
}
