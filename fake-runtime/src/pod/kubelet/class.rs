//! The Pod's class of service.

use super::amounts::{is_said_for_all, limit, limit_of_all, request, request_of_all};
use crate::pod::manifest::Pod;
use crate::pod::quantity::Quantity;

/// How Kubernetes ranks a Pod by what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Every container says how much, and not more than that.
    Guaranteed,
    /// Some say something.
    Burstable,
    /// None says anything.
    BestEffort,
}

impl Class {
    /// What the Pod says as a whole counts in place of what its containers say.
    pub(super) fn of(pod: &Pod) -> Self {
        let spec = &pod.spec;
        let amounts: Vec<_> = if is_said_for_all(pod) {
            let of_pod = |name| (request_of_all(pod, name), limit_of_all(pod, name));
            ["cpu", "memory"].map(of_pod).to_vec()
        } else {
            let containers = spec.init_containers.iter().chain(&spec.containers);
            containers
                .flat_map(|it| ["cpu", "memory"].map(|name| (request(it, name), limit(it, name))))
                .collect()
        };
        if amounts
            .iter()
            .all(|amounts| *amounts == (Quantity::ZERO, Quantity::ZERO))
        {
            Self::BestEffort
        } else if amounts
            .iter()
            .all(|(request, limit)| request == limit && *limit > Quantity::ZERO)
        {
            Self::Guaranteed
        } else {
            Self::Burstable
        }
    }
}
