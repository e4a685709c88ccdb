//! From a Pod manifest to the requests that a runtime would make of it.
//!
//! In two steps, as on a node: the [`kubelet`] asks for a pod and its containers over [`cri`], and of these
//! [`containerd`] or [`cri_o`] makes what it asks plugins. The second step is pinned to recordings.
//!
//! ```
//! use fake_runtime::pod::{self, Allocation, Simulation, manifest};
//!
//! let pods = manifest::parse(
//!     "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: main, image: busybox}]}}",
//! )?;
//! let allocation = Allocation { gpus: Some(2), ..Allocation::default() };
//! let simulation = Simulation { allocation, ..Simulation::default() };
//! let requests = pod::requests(&pods[0], &simulation)?;
//! assert_eq!(requests[0].container.as_ref().unwrap().name, "main");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod cases;
pub mod cluster;
pub mod containerd;
pub mod cri;
pub mod cri_o;
mod identifier;
pub mod image;
pub mod kubelet;
pub mod manifest;
pub mod node;
mod quantity;

use nri_proto::api::CreateContainerRequest;

pub use cluster::Cluster;
pub use image::Images;
pub use kubelet::Allocation;
pub use manifest::Pod;
pub use node::Node;
pub use quantity::Quantity;

use crate::create::CreateError;
use crate::profile::{Maker, Profile};
use containerd::Containerd;
use cri_o::CriO;
use kubelet::{Kubelet, Played, Refusal, Source};

/// What a manifest leaves open.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The runtime that asks.
    pub profile: &'static Profile,
    /// The node that it runs on.
    pub node: Node,
    /// The objects of its cluster.
    pub cluster: Cluster,
    /// The variables that images set of which the node does not tell, as `KEY=value`.
    pub image_env: Vec<String>,
    /// The devices that containers were given.
    pub allocation: Allocation,
    /// Where Pods come from.
    pub source: Source,
    /// Puts in random order what comes in random order from a real kubelet, after this number.
    pub shuffle: Option<u64>,
}

impl Default for Simulation {
    /// The default profile on a node with eight GPUs, of which containers have what their limits say.
    fn default() -> Self {
        Self {
            profile: Default::default(),
            node: Node::new("node-1", 8),
            cluster: Cluster::default(),
            image_env: Vec::new(),
            allocation: Allocation::default(),
            source: Source::default(),
            shuffle: None,
        }
    }
}

/// Why the runtime asks nothing about a Pod.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PodError {
    /// It does not get as far as containerd.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The runtime refuses it first.
    #[error(transparent)]
    Create(#[from] CreateError),
}

/// What the runtime asks plugins about a Pod's containers.
#[derive(Clone, Debug)]
pub struct Asked {
    /// In the order in which containers are made: init containers and sidecars, then the others.
    pub requests: Vec<CreateContainerRequest>,
    /// Of each, what its devices cannot be known for.
    pub unknown: Vec<Option<String>>,
    /// What else is not known, a line each.
    pub notes: Vec<String>,
}

/// What the runtime asks plugins about a Pod's containers, in the order in which they are made: init containers and
/// sidecars, then the others.
///
/// # Errors
///
/// As [`ask`].
pub fn requests(
    pod: &Pod,
    simulation: &Simulation,
) -> Result<Vec<CreateContainerRequest>, PodError> {
    ask(pod, simulation).map(|asked| asked.requests)
}

/// The same, with what is not known of it.
///
/// # Errors
///
/// The Pod does not get as far as containerd, or a CDI device was allocated that the node does not have.
pub fn ask(pod: &Pod, simulation: &Simulation) -> Result<Asked, PodError> {
    let Simulation {
        profile,
        node,
        cluster,
        image_env,
        allocation,
        source,
        shuffle,
    } = simulation;
    let kubelet = Kubelet {
        node,
        profile,
        cluster,
        allocation,
        source: *source,
        shuffle: *shuffle,
    };
    let Played {
        sandbox,
        containers,
        unknown,
        notes,
    } = kubelet.play(pod)?;
    let request = |container: &cri::Container| match profile.requests.maker {
        Maker::Containerd => {
            Containerd { profile, node }.create_container(&sandbox, container, image_env)
        }
        Maker::CriO => CriO { profile, node }.create_container(&sandbox, container, image_env),
    };
    let requests = containers.iter().map(request).collect::<Result<_, _>>()?;
    Ok(Asked {
        requests,
        unknown,
        notes,
    })
}
