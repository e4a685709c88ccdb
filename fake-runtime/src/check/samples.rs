//! The containers that plugins are asked about.

use nri_proto::api::{Container, ContainerState, CreateContainerRequest, PodSandbox};
use prost::Message as _;

use crate::pod::{Allocation, Pod, PodError, Simulation, manifest, requests};
use crate::profile::Profile;

/// Pods of the kinds that plugins tell apart.
const PODS: &str = "
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: main, image: busybox, command: [sleep, infinity]}]}
---
kind: Pod
metadata:
  name: opted-in
  annotations:
    nvml-mock.nvidia.com/devices: 'true'
    nvml-mock.nvidia.com/infiniband: 'true'
    nvml-mock.nvidia.com/imex-channels: 'true'
spec:
  initContainers: [{name: init, image: busybox, command: [sleep, infinity]}]
  containers:
  - name: main
    image: busybox
    command: [sleep, infinity]
    env: [{name: PATH, value: /custom}, {name: LD_PRELOAD, value: /lib/own.so}, {name: LD_PRELOAD, value: /lib/own.so}]
---
kind: Pod
metadata: {name: allocated}
spec: {containers: [{name: main, image: busybox, command: [sleep, infinity], resources: {limits: {nvidia.com/gpu: 2, memory: 64Mi}}}]}
---
kind: Pod
metadata: {name: privileged, namespace: kube-system}
spec:
  hostNetwork: true
  hostPID: true
  containers: [{name: main, image: busybox, command: [sleep, infinity], securityContext: {privileged: true}}]
";

/// The containers that a plugin is asked about.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    pods: Vec<Pod>,
}

impl Samples {
    /// Those of these pods, besides the usual ones.
    #[must_use]
    pub fn with(pods: Vec<Pod>) -> Self {
        Self { pods }
    }

    /// What is asked about each container.
    pub(super) fn requests(
        &self,
        profile: &'static Profile,
    ) -> Result<Vec<CreateContainerRequest>, PodError> {
        let usual = manifest::parse(PODS).expect("the manifest above is one");
        let allocation = Allocation::default();
        let simulation = Simulation {
            profile,
            allocation,
            ..Simulation::default()
        };
        let mut all = Vec::new();
        for pod in usual.iter().chain(&self.pods) {
            all.extend(requests(pod, &simulation)?);
        }
        // The plain one fits into one frame, or nobody could tell who reads no second one.
        if let Some(container) = all.first_mut().and_then(|plain| plain.container.as_mut()) {
            container
                .env
                .retain(|item| !item.starts_with("KUBERNETES_"));
            container.annotations.clear();
        }
        Ok(all)
    }
}

/// Requests in which something is missing, and what it is.
pub(super) fn sparse() -> Vec<(&'static str, CreateContainerRequest)> {
    let pod = || {
        Some(PodSandbox {
            name: "sparse".to_owned(),
            ..Default::default()
        })
    };
    let container = || {
        Some(Container {
            name: "main".to_owned(),
            ..Default::default()
        })
    };
    let request = |pod, container| CreateContainerRequest { pod, container };
    vec![
        ("neither pod nor container", request(None, None)),
        ("no container", request(pod(), None)),
        ("no pod", request(None, container())),
        ("nothing but names", request(pod(), container())),
        (
            "an empty pod and an empty container",
            request(Some(PodSandbox::default()), Some(Container::default())),
        ),
    ]
}

/// The request with a variable so long that it has this many bytes, or a few less.
pub(super) fn padded(request: &CreateContainerRequest, length: usize) -> CreateContainerRequest {
    // The variable's own field, and the longer lengths of those around it.
    const OVERHEAD: usize = 24;
    let padding = length.saturating_sub(request.encoded_len() + OVERHEAD);
    let mut request = request.clone();
    let container = request.container.get_or_insert_default();
    container
        .env
        .push(format!("PADDING={}", "x".repeat(padding)));
    request
}

/// The request with search paths so long that whoever extends them gives a long answer.
pub(super) fn with_long_paths(request: &CreateContainerRequest) -> CreateContainerRequest {
    let mut request = request.clone();
    let container = request.container.get_or_insert_default();
    let long = "/some/directory/far/down:".repeat(100);
    for key in ["PATH", "LD_LIBRARY_PATH", "LD_PRELOAD"] {
        container
            .env
            .retain(|item| !item.starts_with(&format!("{key}=")));
        container.env.push(format!("{key}={long}"));
    }
    request
}

/// So many that an inventory of them takes one message, of more than one frame.
pub(super) const FEW_PODS: usize = 5;
/// So many that it takes several messages.
pub(super) const MANY_PODS: usize = 150;

/// What runs on a node with so many pods like this one.
pub(super) fn inventory(
    plain: CreateContainerRequest,
    pods: usize,
) -> (Vec<PodSandbox>, Vec<Container>) {
    const CONTAINERS_OF_EACH: usize = 5;
    let (pod, container) = (
        plain.pod.unwrap_or_default(),
        plain.container.unwrap_or_default(),
    );
    let pod = |number: usize| PodSandbox {
        id: format!("{}{number:04}", &pod.id[4..]),
        name: format!("pod-{number}"),
        ..pod.clone()
    };
    let all: Vec<PodSandbox> = (0..pods).map(pod).collect();
    let container = |number: usize| {
        let pod = &all[number / CONTAINERS_OF_EACH];
        let mut container = Container {
            id: format!("{}{number:04}", &container.id[4..]),
            pod_sandbox_id: pod.id.clone(),
            name: format!("main-{}", number % CONTAINERS_OF_EACH),
            state: ContainerState::ContainerRunning.into(),
            pid: 4242,
            ..container.clone()
        };
        container.env.push(format!("PADDING={}", "x".repeat(4000)));
        container
    };
    let containers = (0..pods * CONTAINERS_OF_EACH).map(container).collect();
    (all, containers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_comes_close_to_the_length_from_below() {
        let requests = Samples::default().requests(Default::default()).unwrap();
        for length in [4096, 4_194_000] {
            let padded = padded(&requests[0], length).encoded_len();
            assert!(
                (length - 24..=length).contains(&padded),
                "{padded} of {length}"
            );
        }
    }
}
