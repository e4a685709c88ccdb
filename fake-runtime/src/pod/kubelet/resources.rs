//! Requests and limits as the kernel counts them, and the Pod's class of service.

use crate::pod::cri::Resources;
use crate::pod::manifest::{Container, Pod};
use crate::pod::node::Node;
use crate::pod::quantity::Quantity;

/// The period of the CPU quota, in microseconds.
const PERIOD: i64 = 100_000;
const MIN_QUOTA: i64 = 1000;
/// One CPU's worth.
const SHARES: i64 = 1024;
const MIN_SHARES: i64 = 2;

/// How Kubernetes ranks a Pod by what it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Every container says how much, and not more than that.
    Guaranteed,
    /// Some say something.
    Burstable,
    /// None says anything.
    BestEffort,
}

impl Class {
    fn of(pod: &Pod) -> Self {
        let amounts =
            |container: &Container, name: &str| (request(container, name), limit(container, name));
        let all: Vec<_> = super::in_order(pod)
            .flat_map(|container| ["cpu", "memory"].map(|name| amounts(container, name)))
            .collect();
        let nothing = Quantity::default();
        if all.iter().all(|amounts| *amounts == (nothing, nothing)) {
            Self::BestEffort
        } else if all
            .iter()
            .all(|(request, limit)| request == limit && *limit > nothing)
        {
            Self::Guaranteed
        } else {
            Self::Burstable
        }
    }
}

/// The cgroup of a Pod, with the kubelet's own cgroup driver.
pub(super) fn cgroup_parent(pod: &Pod, uid: &str) -> String {
    match Class::of(pod) {
        Class::Guaranteed => format!("/kubepods/pod{uid}"),
        Class::Burstable => format!("/kubepods/burstable/pod{uid}"),
        Class::BestEffort => format!("/kubepods/besteffort/pod{uid}"),
    }
}

/// What a container may use.
pub(super) fn of_container(pod: &Pod, container: &Container, node: &Node) -> Resources {
    let memory = request(container, "memory");
    let oom_score_adj = match Class::of(pod) {
        Class::Guaranteed => -997,
        Class::BestEffort => 1000,
        Class::Burstable => (1000 - 1000 * memory.units() / node.memory.max(1)).clamp(3, 999),
    };
    let limits = (limit(container, "cpu"), limit(container, "memory"));
    resources(request(container, "cpu"), limits, Some(oom_score_adj))
}

/// What a Pod's containers need together. Sidecars run beside the others; of the other init containers none does.
pub(super) fn of_pod(pod: &Pod) -> Resources {
    let spec = &pod.spec;
    let sidecars = spec
        .init_containers
        .iter()
        .filter(|it| it.restart_policy == "Always");
    let together: Vec<_> = sidecars.chain(&spec.containers).collect();
    let sum = |amount: fn(&Container, &str) -> Quantity, name: &str| {
        together
            .iter()
            .map(|container| amount(container, name))
            .sum::<Quantity>()
    };
    // Where one container has no limit, all of them together have none.
    let limit_of_all = |name: &str| {
        let limited = together
            .iter()
            .all(|container| limit(container, name) > Quantity::default());
        if limited {
            sum(limit, name)
        } else {
            Quantity::default()
        }
    };
    resources(
        sum(request, "cpu"),
        (limit_of_all("cpu"), limit_of_all("memory")),
        None,
    )
}

fn resources(
    cpu: Quantity,
    (cpu_limit, memory_limit): (Quantity, Quantity),
    oom_score_adj: Option<i64>,
) -> Resources {
    let shares = (cpu.milli().saturating_mul(SHARES) / 1000).max(MIN_SHARES);
    let quota = match cpu_limit.milli() {
        0 => 0,
        milli => (milli.saturating_mul(PERIOD) / 1000).max(MIN_QUOTA),
    };
    Resources {
        cpu_shares: shares.unsigned_abs(),
        cpu_quota: quota,
        cpu_period: PERIOD.unsigned_abs(),
        memory_limit: memory_limit.units(),
        oom_score_adj,
        ..Default::default()
    }
}

fn limit(container: &Container, name: &str) -> Quantity {
    container
        .resources
        .limits
        .get(name)
        .copied()
        .unwrap_or_default()
}

/// The API server takes a limit for the request where that is missing.
fn request(container: &Container, name: &str) -> Quantity {
    let request = container.resources.requests.get(name).copied();
    request.unwrap_or_else(|| limit(container, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::manifest::parse;

    fn pod(resources: &str) -> Pod {
        let text = format!(
            "{{kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: c, resources: {resources}}}]}}}}"
        );
        parse(&text).unwrap().remove(0)
    }

    fn played(resources: &str) -> (String, Resources) {
        let pod = pod(resources);
        let node = Node {
            memory: 16 << 30,
            ..Node::new("n", 0)
        };
        (
            cgroup_parent(&pod, "u"),
            of_container(&pod, &pod.spec.containers[0], &node),
        )
    }

    #[test]
    fn who_asks_for_nothing_is_killed_first() {
        let (cgroup, resources) = played("{}");
        assert_eq!(cgroup, "/kubepods/besteffort/podu");
        assert_eq!((resources.cpu_shares, resources.cpu_quota), (2, 0));
        assert_eq!(
            (resources.memory_limit, resources.oom_score_adj),
            (0, Some(1000))
        );
    }

    #[test]
    fn limits_alone_are_requests_too() {
        let (cgroup, resources) = played("{limits: {cpu: 500m, memory: 128Mi}}");
        assert_eq!(cgroup, "/kubepods/podu");
        assert_eq!((resources.cpu_shares, resources.cpu_quota), (512, 50_000));
        assert_eq!(
            (resources.memory_limit, resources.oom_score_adj),
            (128 << 20, Some(-997))
        );
    }

    #[test]
    fn who_asks_for_more_than_can_be_counted_gets_as_much_as_can() {
        let (_, resources) = played("{limits: {cpu: 1e12}}");
        assert_eq!(resources.cpu_quota, i64::MAX / 1000);
        assert_eq!(resources.cpu_shares, 1_024_000_000_000_000);
        let text = "limits: {cpu: 9e12}";
        let pod = pod(&format!("{{{text}}}}}, {{name: d, resources: {{{text}}}"));
        assert_eq!(of_pod(&pod).cpu_shares, i64::MAX.unsigned_abs() / 1000);
    }

    #[test]
    fn who_asks_for_less_than_it_may_use_is_scored_by_its_request() {
        let (cgroup, resources) = played("{requests: {memory: 4Gi}, limits: {memory: 8Gi}}");
        assert_eq!(cgroup, "/kubepods/burstable/podu");
        assert_eq!(resources.oom_score_adj, Some(750));
    }
}
