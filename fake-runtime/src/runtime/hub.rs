//! What all connections of one runtime share, and waiting for it to change.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use nri_proto::api::Container;
use tokio::sync::{Mutex, watch};

use super::default_validator::DefaultValidator;
use super::inventory::Inventory;
use super::lock::lock;
use super::plan::Plan;
use super::plugin::Plugin;
use super::received::Received;
use super::running::Running;
use super::timeouts::Timeouts;
use crate::host::Host;
use crate::profile::Profile;

/// How much of what was received is kept, at least: a runtime that runs for days must not grow.
const KEPT: usize = 10_000;

/// Something that a test waited for did not happen.
#[derive(Clone, Debug, thiserror::Error)]
#[error("waited {waited:?} for {awaited} in vain; {received}")]
pub struct WaitTimeout {
    awaited: String,
    waited: Duration,
    received: String,
}

#[derive(Debug)]
pub(super) struct Hub {
    pub(super) profile: &'static Profile,
    pub(super) timeouts: Timeouts,
    inventory: Inventory,
    running: std::sync::Mutex<Running>,
    pub(super) default_validator: Option<DefaultValidator>,
    pub(super) host: Host,
    /// Held over each request: containerd makes one at a time.
    pub(super) requests: Mutex<()>,
    pub(super) plan: Plan,
    random: std::sync::Mutex<Rng>,
    patience: Duration,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// In the order in which they are asked.
    pub(super) plugins: Vec<Plugin>,
    /// Validators that are gone: the next container is refused over each of them.
    pub(super) lost_validators: Vec<String>,
    pub(super) registrations: usize,
    connections: usize,
    /// The connections that have not ended, by the names that they go by before registering.
    pub(super) open: BTreeSet<String>,
    pub(super) received: Vec<Received>,
}

impl State {
    /// Keeps what was received, in place of the oldest where there is much.
    fn keep(&mut self, received: Received) {
        self.received.push(received);
        if self.received.len() == 2 * KEPT {
            self.received.drain(..KEPT);
        }
    }
}

impl Hub {
    pub(super) fn new(
        profile: &'static Profile,
        timeouts: Timeouts,
        patience: Duration,
        inventory: Inventory,
        host: Host,
        seed: u64,
        default_validator: Option<DefaultValidator>,
    ) -> Arc<Self> {
        Arc::new(Self {
            profile,
            timeouts,
            running: std::sync::Mutex::new(Running::of(&inventory)),
            inventory,
            default_validator,
            host,
            requests: Mutex::default(),
            plan: Plan::default(),
            random: std::sync::Mutex::new(Rng::with_seed(seed)),
            patience,
            state: watch::Sender::default(),
        })
    }

    /// Waits until `look` finds what it looks for.
    pub(super) async fn wait<T>(
        &self,
        awaited: &str,
        mut look: impl FnMut(&State) -> Option<T>,
    ) -> Result<T, WaitTimeout> {
        let mut state = self.state.subscribe();
        let mut found = None;
        let happened = state.wait_for(|state| {
            found = look(state);
            found.is_some()
        });
        // The sender lives as long as the hub does, so that only the time can run out.
        let _ = tokio::time::timeout(self.patience, happened).await;
        found.ok_or_else(|| WaitTimeout {
            awaited: awaited.to_owned(),
            waited: self.patience,
            received: report(&self.received()),
        })
    }

    /// Looks at what runs on the node, or changes it.
    pub(super) fn running<T>(&self, look: impl FnOnce(&mut Running) -> T) -> T {
        look(&mut lock(&self.running))
    }

    /// What a plugin is told that registers now: the inventory, as far as it is there still, and what was added.
    pub(super) fn listed(&self) -> Inventory {
        let Inventory { pods, containers } = self.inventory.clone();
        self.running(|running| {
            let is_new = |id: &String| !self.inventory.pods.iter().any(|it| it.id == *id);
            let new_pods = running.pods.iter().filter(|(id, _)| is_new(id));
            let is_there = |id: &String| id.is_empty() || running.pods.contains_key(id);
            let pods = pods.into_iter().filter(|pod| is_there(&pod.id));
            let pods = pods.chain(new_pods.map(|(_, pod)| pod.clone())).collect();

            let now = |container: Container| match running.containers.get(&container.id) {
                _ if container.id.is_empty() => Some(container),
                Some(alive) => Some(alive.container.clone()),
                None => None,
            };
            let is_new = |id: &String| !self.inventory.containers.iter().any(|it| it.id == *id);
            let added = running.listed().filter(|it| is_new(&it.id)).cloned();
            let containers = containers
                .into_iter()
                .filter_map(now)
                .chain(added)
                .collect();
            Inventory { pods, containers }
        })
    }

    /// The next number drawn from the seed.
    pub(super) fn random(&self, range: RangeInclusive<usize>) -> usize {
        lock(&self.random).usize(range)
    }

    pub(super) fn received(&self) -> Vec<Received> {
        self.state.borrow().received.clone()
    }

    pub(super) fn registrations(&self) -> usize {
        self.state.borrow().registrations
    }

    pub(super) fn plugins(&self) -> Vec<Plugin> {
        self.state.borrow().plugins.clone()
    }

    pub(super) fn note(&self, received: Received) {
        self.state.send_modify(|state| state.keep(received));
    }

    /// An answer came over the connection under a stream id that no request waits under.
    pub(super) fn note_stray(&self, connection: &str, stream: u32) {
        self.state.send_modify(|state| {
            let registered = state.plugins.iter().find(|it| it.connection == connection);
            let plugin = registered.map_or_else(|| connection.to_owned(), |it| it.info.to_string());
            state.keep(Received::StrayAnswer { plugin, stream });
        });
    }

    /// Counts a connection and gives it a name to go by until it has registered.
    pub(super) fn connected(&self) -> String {
        let mut plugin = String::new();
        self.state.send_modify(|state| {
            state.connections += 1;
            plugin = format!("connection {}", state.connections);
            state.open.insert(plugin.clone());
            state.keep(Received::Connected {
                plugin: plugin.clone(),
            });
        });
        plugin
    }

    /// From now on the plugin is asked, unless its connection ended meanwhile. Of the same index, those that were
    /// there first are asked first.
    pub(super) fn add(&self, plugin: Plugin, parts: usize) {
        self.state.send_modify(|state| {
            if !state.open.contains(&plugin.connection) {
                return;
            }
            state.keep(Received::Synchronized {
                plugin: plugin.info.to_string(),
                parts,
            });
            state.registrations += 1;
            state.plugins.push(plugin);
            state
                .plugins
                .sort_by(|a, b| a.info.index.cmp(&b.info.index));
        });
    }

    /// The connection has ended, or is about to: whoever had registered over it is asked no longer. Of several
    /// reasons the first counts.
    pub(super) fn remove(&self, connection: &str, why: &str) {
        self.state.send_modify(|state| {
            if !state.open.remove(connection) {
                return;
            }
            let registered = state
                .plugins
                .iter()
                .position(|p| p.connection == connection);
            let plugin = match registered.map(|at| state.plugins.remove(at)) {
                Some(plugin) => {
                    let name = plugin.info.to_string();
                    if plugin.is_validator(self.profile) {
                        state.lost_validators.push(name.clone());
                    }
                    name
                }
                None => connection.to_owned(),
            };
            state.keep(Received::Closed {
                plugin,
                why: why.to_owned(),
            });
        });
    }

    pub(super) fn take_lost_validators(&self) -> Vec<String> {
        let mut lost = Vec::new();
        self.state
            .send_modify(|state| lost = std::mem::take(&mut state.lost_validators));
        lost
    }

    /// The runtime itself is gone: every connection has ended, and no memory of a validator survives.
    pub(super) fn remove_all(&self, why: &str) {
        let open = self.state.borrow().open.clone();
        for connection in open {
            self.remove(&connection, why);
        }
        self.take_lost_validators();
    }
}

/// Everything received, numbered.
pub(super) fn report(received: &[Received]) -> String {
    if received.is_empty() {
        return "received: nothing".to_owned();
    }
    let mut report = "received:".to_owned();
    for (number, received) in (1..).zip(received) {
        // Writing to a String cannot fail.
        let _ = write!(report, "\n{number:>4}. {received}");
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_much_that_is_received_the_last_is_kept() {
        let mut state = State::default();
        let connected = |number: usize| Received::Connected {
            plugin: number.to_string(),
        };
        (0..5 * KEPT).for_each(|number| state.keep(connected(number)));
        assert!(state.received.len() < 2 * KEPT);
        assert_eq!(state.received.last(), Some(&connected(5 * KEPT - 1)));
    }
}
