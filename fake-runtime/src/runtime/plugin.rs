//! A registered plugin.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use nri_proto::api::Event;
use nri_proto::wire::Caller;
use tokio::task::AbortHandle;

use super::link::Control;
use crate::profile::Profile;

/// What a plugin said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginInfo {
    /// Two digits; plugins are asked in their order.
    pub index: String,
    /// Its name.
    pub name: String,
    /// The events that it subscribed to, as it wrote them: event n is bit n-1, and 0 is every event.
    pub events: i32,
}

impl fmt::Display for PluginInfo {
    /// As containerd names it: `10-nvml-mock`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.index, self.name)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Plugin {
    pub(super) info: PluginInfo,
    /// The name that its connection had before it registered.
    pub(super) connection: String,
    pub(super) caller: Caller,
    pub(super) link: Arc<Control>,
    /// Whether it has said that it has none of the calls that newer runtimes make of an event each.
    pub(super) is_older: Arc<AtomicBool>,
    /// Aborting it closes the connection.
    pub(super) driver: AbortHandle,
}

impl Plugin {
    pub(super) fn creates_containers(&self) -> bool {
        self.subscribed_to(Event::CreateContainer)
    }

    pub(super) fn is_validator(&self, profile: &Profile) -> bool {
        profile.validators && self.subscribed_to(Event::ValidateContainerAdjustment)
    }

    pub(super) fn subscribed_to(&self, event: Event) -> bool {
        // Event n is bit n-1, and 0 every event.
        self.info.events == 0 || self.info.events & (1 << (event as i32 - 1)) != 0
    }
}
