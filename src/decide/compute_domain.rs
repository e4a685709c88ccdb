//! The DRA driver's ComputeDomain daemon. It gets its driver through CDI, so it gets no overlay; but without
//! its files it cannot run, so it is the one container that may be refused.

use super::adjustment::{Adjustment, BindMount};
use super::environment;
use super::outcome::{Outcome, Reason, Refusal, Selection};
use super::request::{Container, Pod};
use super::staged::{NodeKind, Staged};
use super::warning::Warning;
use crate::config::Config;
use crate::path::AbsolutePath;

/// The name of the daemon's container.
const CONTAINER: &str = "compute-domain-daemon";
/// The pod label that names the domain.
pub(super) const DOMAIN_LABEL: &str = "resource.nvidia.com/computeDomain";
/// The real IMEX daemon in the container; below the overlay's `driver` it is on the host.
const BINARY: &str = "/usr/bin/nvidia-imex.real";

const READ_ONLY_FILE: &[&str] = &["rbind", "ro", "nosuid", "nodev"];

/// Whether this container is the daemon.
pub(super) fn is_daemon(pod: &Pod, container: &Container) -> bool {
    let domain = pod.labels.get(DOMAIN_LABEL);
    container.name == CONTAINER && domain.is_some_and(|domain| !domain.is_empty())
}

/// What to do with the daemon.
pub(super) fn select(config: &Config, container: &Container) -> Selection {
    let leave_alone = |reason, warning| Selection::LeaveAlone { reason, warning };
    if AbsolutePath::new(BINARY).is_some_and(|binary| container.mounts_at(&binary)) {
        return leave_alone(Reason::AlreadyAdjusted, None);
    }
    if !config.compute_domain_staging {
        let warning = Warning::ComputeDomainStagingOff;
        return leave_alone(Reason::ComputeDomainStagingOff, Some(warning));
    }
    Selection::Daemon
}

/// The daemon's two files and its variable, or what is missing of them.
pub(super) fn adjust(config: &Config, container: &Container, staged: &impl Staged) -> Outcome {
    let binary = config.overlay_host_path.join("driver").join(BINARY);
    let topology = &config.topology_host_path;
    if !staged
        .node(&binary)
        .is_ok_and(|node| node.kind == NodeKind::File)
    {
        let path = binary.to_string();
        return Outcome::Refused(Refusal::BinaryNotStaged { path });
    }
    if staged.node(topology).is_err() {
        let path = topology.to_string();
        return Outcome::Refused(Refusal::TopologyNotStaged { path });
    }
    if config.node_name.is_none() {
        return Outcome::Refused(Refusal::NodeNameUnknown);
    }
    let bind = |source: &AbsolutePath, destination: &str| BindMount {
        source: source.to_string(),
        destination: destination.to_owned(),
        options: READ_ONLY_FILE,
    };
    Outcome::Adjusted(Adjustment {
        mounts: vec![
            bind(&binary, BINARY),
            bind(topology, config.topology_mount_path.as_str()),
        ],
        env: environment::daemon(config, &container.env).changed,
        ..Adjustment::default()
    })
}
