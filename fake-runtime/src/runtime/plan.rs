//! What goes differently the next time, as a test asked for it.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use nri_proto::wire::Split;

use super::lock::lock;
use super::pace::Pace;

/// One of the things that a runtime says to a plugin.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// The answer to RegisterPlugin.
    RegistrationAnswer,
    /// Configure.
    Configure,
    /// Synchronize, the first part of it.
    Synchronize,
    /// CreateContainer.
    CreateContainer,
}

/// How the next registration goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Handshake {
    /// RegisterPlugin is answered, Configure follows.
    #[default]
    InOrder,
    /// Configure is called, and RegisterPlugin answered when that was.
    ConfiguredFirst,
    /// RegisterPlugin is answered, and nothing follows.
    NeverConfigured,
    /// RegisterPlugin is never answered, and nothing follows.
    NeverAnswered,
}

/// What goes differently, each once.
#[derive(Debug, Default)]
pub(super) struct Plan {
    handshake: Mutex<Handshake>,
    split: Mutex<Option<Split>>,
    pace: Mutex<Option<Pace>>,
    delays: Mutex<BTreeMap<Call, Duration>>,
}

impl Plan {
    pub(super) fn plan_handshake(&self, handshake: Handshake) {
        *lock(&self.handshake) = handshake;
    }

    pub(super) fn plan_split(&self, split: Split) {
        *lock(&self.split) = Some(split);
    }

    pub(super) fn plan_pace(&self, pace: Pace) {
        *lock(&self.pace) = Some(pace);
    }

    pub(super) fn plan_delay(&self, call: Call, delay: Duration) {
        lock(&self.delays).insert(call, delay);
    }

    /// For a connection that was just made.
    pub(super) fn handshake(&self) -> Handshake {
        std::mem::take(&mut *lock(&self.handshake))
    }

    /// For a connection that was just made.
    pub(super) fn split(&self) -> Split {
        lock(&self.split).take().unwrap_or(Split::CONTAINERD)
    }

    /// For the answer to a CreateContainer that is about to be called.
    pub(super) fn pace(&self) -> Option<Pace> {
        lock(&self.pace).take()
    }

    /// Waits as long as was planned for this call, if anything was.
    pub(super) async fn delay(&self, call: Call) {
        let delay = lock(&self.delays).remove(&call);
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
    }
}
