//! The devices that a device plugin or a DRA driver gave a Pod's containers.

use std::collections::BTreeMap;

use super::order::in_order;
use crate::pod::cri::Device;
use crate::pod::manifest::{Container, Pod};

/// What is given to containers. It goes to those that ask: with a limit of `nvidia.com/gpu` or another name of NVIDIA's
/// device plugin, or with a resource claim. Where none of a Pod asks, it goes to every one that is no init container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// That many GPUs to each, as device nodes; `None` is as many as its limit says. All together get no more than a
    /// node can have.
    pub gpus: Option<u32>,
    /// These devices to each, by their CDI names.
    pub cdi: Vec<String>,
    /// Just these to containers of these names, whatever else is said.
    pub known: BTreeMap<String, Given>,
}

/// What one container was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// As device nodes.
    pub devices: Vec<Device>,
    /// By their CDI names.
    pub cdi: Vec<String>,
}

impl Allocation {
    pub(super) fn cdi_devices(&self, pod: &Pod, container: &Container) -> Vec<String> {
        match self.known.get(&container.name) {
            Some(given) => given.cdi.clone(),
            None if is_given(pod, container) => self.cdi.clone(),
            None => Vec::new(),
        }
    }

    /// What is not known of a container's claims: what they bring is for their driver to say.
    pub(super) fn unknown(&self, container: &Container) -> Option<String> {
        let claims = &container.resources.claims;
        if claims.is_empty() || !self.cdi.is_empty() || self.known.contains_key(&container.name) {
            return None;
        }
        let names: Vec<_> = claims.iter().map(|claim| claim.name.as_str()).collect();
        let names = names.join(", ");
        Some(format!(
            "what its DRA driver gives it for the resource claim {names} is not known: name it with --cdi, as in \
             --cdi k8s.gpu.nvidia.com/claim=UID-gpu"
        ))
    }
}

pub(super) fn is_given(pod: &Pod, container: &Container) -> bool {
    if in_order(pod).any(asks) {
        return asks(container);
    }
    pod.spec
        .containers
        .iter()
        .any(|it| std::ptr::eq(it, container))
}

fn asks(container: &Container) -> bool {
    limit(container) > 0 || !container.resources.claims.is_empty()
}

/// The GPUs that a container asks the device plugin for: whole ones, shares of them and parts of them (MIG).
pub(in crate::pod) fn limit(container: &Container) -> i64 {
    let is_gpu = |name: &str| {
        let kind = name.strip_prefix("nvidia.com/");
        kind.is_some_and(|kind| kind == "gpu" || kind == "gpu.shared" || kind.starts_with("mig-"))
    };
    let limits = container.resources.limits.iter();
    let gpus = limits.filter(|(name, _)| is_gpu(name));
    gpus.fold(0, |sum: i64, (_, amount)| {
        sum.saturating_add(amount.units())
    })
    .max(0)
}
