//! From a Kubernetes Pod to the requests that plugins get about its containers.
//!
//! What the kubelet asks of containerd, and what containerd then asks plugins, is played as far as the manifest tells
//! and the recordings show. Ids, process ids and host paths are made up, the same ones each time.

mod allocation;
mod container;
mod manifest;
mod mounts;
mod resources;
mod sandbox;

pub use manifest::{ManifestError, Pod};

use nri_proto::api::CreateContainerRequest;

use crate::profile::Profile;

/// What a manifest leaves open.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// The containerd that asks.
    pub profile: &'static Profile,
    /// The environment that the containers' images set, as `KEY=value`.
    pub image_env: Vec<String>,
    /// How many GPUs the device plugin gives each regular container; `None` is as many as its limit
    /// `nvidia.com/gpu` says.
    pub gpus: Option<u32>,
    /// CDI devices that each regular container is given, by their names, as DRA drivers and device plugins do.
    pub cdi: Vec<String>,
}

impl Default for Simulation {
    /// The default profile, an image that sets PATH, and the GPUs that the manifest asks for.
    fn default() -> Self {
        Self {
            profile: Default::default(),
            image_env: vec![
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin".to_owned(),
            ],
            gpus: None,
            cdi: Vec::new(),
        }
    }
}

/// The requests for a pod's containers in the order in which the kubelet creates them: init containers and sidecars,
/// then the regular ones.
#[must_use]
pub fn requests(pod: &Pod, simulation: &Simulation) -> Vec<CreateContainerRequest> {
    let sandbox = sandbox::Sandbox::of(pod, simulation.profile);
    let init = pod
        .spec
        .init_containers
        .iter()
        .map(|container| (container, false));
    let regular = pod
        .spec
        .containers
        .iter()
        .map(|container| (container, true));
    init.chain(regular)
        .map(|(container, allocated)| {
            let allocated = allocated.then_some(simulation);
            CreateContainerRequest {
                pod: Some(sandbox.message.clone()),
                container: Some(container::container(
                    pod, &sandbox, container, simulation, allocated,
                )),
            }
        })
        .collect()
}
