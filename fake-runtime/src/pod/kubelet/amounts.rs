//! What a Pod and its containers ask for, and what they may have.

use std::collections::BTreeMap;

use super::order::in_order;
use crate::pod::manifest::{Container, Pod};
use crate::pod::quantity::Quantity;

pub(super) type Amounts = BTreeMap<String, Quantity>;

pub(super) fn said(amounts: &Amounts, name: &str) -> Option<Quantity> {
    amounts.get(name).copied()
}

pub(super) fn pod_amount(amounts: &Amounts, name: &str) -> Quantity {
    said(amounts, name).unwrap_or_default()
}

/// A container's limit, if it has one.
pub(super) fn own_limit(container: &Container, name: &str) -> Option<Quantity> {
    said(&container.resources.limits, name)
}

/// A container's request; the API server takes the limit where it is missing.
pub(super) fn own_request(container: &Container, name: &str) -> Option<Quantity> {
    let request = said(&container.resources.requests, name);
    request.or_else(|| own_limit(container, name))
}

pub(super) fn limit(container: &Container, name: &str) -> Quantity {
    own_limit(container, name).unwrap_or_default()
}

pub(super) fn request(container: &Container, name: &str) -> Quantity {
    own_request(container, name).unwrap_or_default()
}

/// Whether the Pod says something as a whole.
pub(super) fn is_said_for_all(pod: &Pod) -> bool {
    let said = &pod.spec.resources;
    let mut names = said.limits.keys().chain(said.requests.keys());
    names.any(|name| name == "cpu" || name == "memory")
}

/// The Pod's limit: what it says, or the sum of what its containers do.
pub(super) fn limit_of_all(pod: &Pod, name: &str) -> Quantity {
    said(&pod.spec.resources.limits, name).unwrap_or_else(|| together(pod, limit, name))
}

/// The Pod's request: what it says; or what its containers do, where they do; or its limit.
pub(super) fn request_of_all(pod: &Pod, name: &str) -> Quantity {
    let whole = &pod.spec.resources;
    if let Some(request) = said(&whole.requests, name) {
        return request;
    }
    let any = in_order(pod).any(|container| own_request(container, name).is_some());
    match said(&whole.limits, name) {
        Some(limit) if !any => limit,
        _ => together(pod, request, name),
    }
}

/// The sum of all that run beside one another; at least what each init container needs, with the sidecars that were
/// started before it.
pub(super) fn together(
    pod: &Pod,
    amount: fn(&Container, &str) -> Quantity,
    name: &str,
) -> Quantity {
    let mut sidecars = Quantity::ZERO;
    let mut most = Quantity::ZERO;
    for container in &pod.spec.init_containers {
        let own = amount(container, name);
        let with_sidecars = [sidecars, own].into_iter().sum();
        most = most.max(with_sidecars);
        if container.restart_policy == "Always" {
            sidecars = with_sidecars;
        }
    }
    let containers = pod.spec.containers.iter().map(|it| amount(it, name));
    most.max(containers.chain([sidecars]).sum())
}
