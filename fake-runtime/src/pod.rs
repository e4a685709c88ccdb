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

pub mod containerd;
pub mod cri;
pub mod cri_o;
pub mod kubelet;
pub mod manifest;
mod node;
mod quantity;

use nri_proto::api::CreateContainerRequest;

pub use kubelet::Allocation;
pub use manifest::Pod;
pub use node::Node;
pub use quantity::Quantity;

use crate::create::CreateError;
use crate::profile::{Maker, Profile};
use containerd::Containerd;
use cri_o::CriO;

/// What a manifest leaves open.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The runtime that asks.
    pub profile: &'static Profile,
    /// The node that it runs on.
    pub node: Node,
    /// The variables that the containers' images set, as `KEY=value`.
    pub image_env: Vec<String>,
    /// The devices that containers were given.
    pub allocation: Allocation,
}

impl Default for Simulation {
    /// The default profile on a node with eight GPUs, of which containers have what their limits say.
    fn default() -> Self {
        Self {
            profile: Default::default(),
            node: Node::new("node-1", 8),
            image_env: Vec::new(),
            allocation: Allocation::default(),
        }
    }
}

/// What the runtime asks plugins about a Pod's containers, in the order in which they are made: init containers and
/// sidecars, then the others.
///
/// # Errors
///
/// A CDI device that was allocated and that the node does not have.
pub fn requests(
    pod: &Pod,
    simulation: &Simulation,
) -> Result<Vec<CreateContainerRequest>, CreateError> {
    let Simulation {
        profile,
        node,
        image_env,
        allocation,
    } = simulation;
    let (sandbox, containers) = kubelet::play(pod, node, allocation);
    let request = |container: &cri::Container| match profile.requests.maker {
        Maker::Containerd => {
            Containerd { profile, node }.create_container(&sandbox, container, image_env)
        }
        Maker::CriO => CriO { profile, node }.create_container(&sandbox, container, image_env),
    };
    containers.iter().map(request).collect()
}
