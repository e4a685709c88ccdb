//! A container's variables: references to other places resolved, and `$(NAME)` expanded.

mod sources;

pub(super) use sources::account;

use indexmap::IndexMap;

use super::expand::{Variables, expand};
use super::{Identity, Kubelet};
use crate::pod::cluster::Service;
use crate::pod::manifest::{Container, Pod};
use sources::Sources;

/// Those that a manifest sets, and those that tell of Services, which come behind.
pub(super) struct Env {
    own: IndexMap<String, String>,
    services: IndexMap<String, String>,
}

/// The variables of a container. A name that stands there twice is sent once, with its last value.
pub(super) fn of(
    kubelet: &Kubelet<'_>,
    pod: &Pod,
    identity: &Identity,
    container: &Container,
    notes: &mut Vec<String>,
) -> Env {
    let mut env = Env {
        own: IndexMap::new(),
        services: services(kubelet, pod, identity),
    };
    let mut sources = Sources {
        kubelet,
        pod,
        identity,
        container,
        notes,
    };
    for from in &container.env_from {
        for (key, value) in sources.all_of(from) {
            env.own.insert(format!("{}{key}", from.prefix), value);
        }
    }
    for variable in &container.env {
        let value = match &variable.value_from {
            Some(source) if variable.value.is_empty() => sources.value(source),
            _ => Some(expand(&variable.value, &env)),
        };
        if let Some(value) = value {
            env.own.insert(variable.name.clone(), value);
        }
    }
    env
}

impl Env {
    pub(super) fn into_pairs(mut self) -> Vec<(String, String)> {
        self.services.retain(|name, _| !self.own.contains_key(name));
        self.own.into_iter().chain(self.services).collect()
    }

    /// Each group in an order of its own.
    pub(super) fn shuffle(&mut self, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        for group in [&mut self.own, &mut self.services] {
            for last in (1..group.len()).rev() {
                group.swap_indices(last, random.usize(..=last));
            }
        }
    }
}

impl Variables for Env {
    fn value(&self, name: &str) -> Option<&str> {
        let value = self.own.get(name).or_else(|| self.services.get(name))?;
        Some(value)
    }
}

/// What tells of Services: of the API server always, of the namespace's others unless the Pod does not want it.
fn services(kubelet: &Kubelet<'_>, pod: &Pod, identity: &Identity) -> IndexMap<String, String> {
    let mut all = IndexMap::new();
    if pod.spec.enable_service_links.unwrap_or(true) {
        for (name, service) in kubelet.cluster.services(&identity.namespace) {
            all.extend(service.variables(name));
        }
    }
    let api_server = Service::of_api_server(&kubelet.node.api_server);
    for (name, value) in api_server.variables("kubernetes") {
        all.entry(name).or_insert(value);
    }
    all
}
