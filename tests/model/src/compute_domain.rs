//! The ComputeDomain daemon: the one case that may refuse a container.

use std::collections::BTreeSet;

use nri_proto::api::{Container, ContainerAdjustment, PodSandbox};

use crate::clean::{clean, join};
use crate::settings::Settings;
use crate::tree::Node;
use crate::{Answer, Gate, Missing, Outcome, Warning, World};
use crate::{decision, environment, mounts};

/// What the daemon runs.
const IMEX: &str = "/usr/bin/nvidia-imex.real";

/// The DRA driver's daemon, by its name and its pod's label.
pub fn is_daemon(pod: Option<&PodSandbox>, container: Option<&Container>) -> bool {
    let label = pod.and_then(|pod| pod.labels.get("resource.nvidia.com/computeDomain"));
    container.is_some_and(|container| container.name == "compute-domain-daemon")
        && label.is_some_and(|domain| !domain.is_empty())
}

/// What becomes of it.
pub fn decide(settings: &Settings, world: &World, container: Option<&Container>) -> Outcome {
    let mounted = container.iter().flat_map(|container| &container.mounts);
    if mounted
        .into_iter()
        .any(|mount| clean(&mount.destination) == IMEX)
    {
        return decision::left_alone("already adjusted");
    }
    if !settings.compute_domain_staging {
        return Outcome {
            answer: Answer::LeftAlone(None),
            warnings: BTreeSet::from([Warning::ComputeDomainStagingOff]),
        };
    }
    let imex_host = join(&settings.overlay_host, "driver/usr/bin/nvidia-imex.real");
    // A closed gate is found out first: the tree is read only behind it.
    let missing = if settings.asks_staging_gate && world.gate == Gate::Closed {
        BTreeSet::from([Missing::OpenGate])
    } else {
        missing(settings, world, &imex_host)
    };
    if !missing.is_empty() {
        return Outcome {
            answer: Answer::Refused(missing),
            warnings: BTreeSet::new(),
        };
    }
    let mut warnings = BTreeSet::new();
    let options = "rbind ro nosuid nodev";
    let mut binds = vec![mounts::bind(&imex_host, IMEX, options)];
    if settings.topology_mount == IMEX {
        warnings.insert(Warning::Repeated);
    } else {
        binds.push(mounts::bind(
            &settings.topology_host,
            &settings.topology_mount,
            options,
        ));
    }
    let adjustment = ContainerAdjustment {
        mounts: binds,
        env: environment::topology_if_unset(settings, container),
        ..Default::default()
    };
    Outcome {
        answer: Answer::Adjusted(Box::new(adjustment)),
        warnings,
    }
}

fn missing(settings: &Settings, world: &World, imex_host: &str) -> BTreeSet<Missing> {
    let mut missing = BTreeSet::new();
    if !world.tree.stat(imex_host).is_some_and(Node::is_file) {
        missing.insert(Missing::Binary);
    }
    if !world.tree.exists(&settings.topology_host) {
        missing.insert(Missing::Topology);
    }
    if settings.node_name.is_none() {
        missing.insert(Missing::NodeName);
    }
    missing
}
