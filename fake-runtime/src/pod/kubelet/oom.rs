//! How gladly the kernel kills a container when the node's memory runs out.

use super::amounts::{request, request_of_all, together};
use super::class::Class;
use crate::pod::manifest::{Container, Pod};
use crate::pod::node::Node;

const GUARANTEED: i64 = -997;
const BEST_EFFORT: i64 = 1000;

pub(super) fn score(pod: &Pod, container: &Container, node: &Node) -> i64 {
    if pod.spec.priority_class_name == "system-node-critical" {
        return GUARANTEED;
    }
    match Class::of(pod) {
        Class::Guaranteed => GUARANTEED,
        Class::BestEffort => BEST_EFFORT,
        Class::Burstable => {
            let share = share_of_rest(pod);
            let capacity = i128::from(node.memory.max(1));
            let score = |memory: i64| {
                let part = 1000 * i128::from(memory.saturating_add(share)) / capacity;
                1000 - i64::try_from(part).unwrap_or(i64::MAX)
            };
            let own = score(request(container, "memory").units());
            let score = match least_of_main(pod) {
                // A sidecar goes no sooner than those that it serves.
                Some(least) if is_sidecar(pod, container) => own.min(score(least)),
                _ => own,
            };
            score.clamp(BEST_EFFORT + GUARANTEED, BEST_EFFORT - 1)
        }
    }
}

/// What the Pod as a whole asks for beyond its containers, an equal part for each.
fn share_of_rest(pod: &Pod) -> i64 {
    let whole = &pod.spec.resources;
    if whole.limits.is_empty() && whole.requests.is_empty() {
        return 0;
    }
    let rest = request_of_all(pod, "memory").units() - together(pod, request, "memory").units();
    let sidecars = pod.spec.init_containers.iter();
    let sidecars = sidecars.filter(|it| it.restart_policy == "Always").count();
    let containers = i64::try_from(pod.spec.containers.len() + sidecars);
    rest.max(0) / containers.unwrap_or(i64::MAX).max(1)
}

fn least_of_main(pod: &Pod) -> Option<i64> {
    let requests = pod.spec.containers.iter();
    requests.map(|it| request(it, "memory").units()).min()
}

fn is_sidecar(pod: &Pod, container: &Container) -> bool {
    container.restart_policy == "Always"
        && pod
            .spec
            .init_containers
            .iter()
            .any(|it| std::ptr::eq(it, container))
}
