//! Requests and limits as the kernel counts them.

use super::amounts::{limit, limit_of_all, pod_amount, request_of_all, said};
use super::class::Class;
use super::oom;
use crate::pod::cluster::RuntimeClass;
use crate::pod::cri::Resources;
use crate::pod::manifest::{Container, Pod};
use crate::pod::node::{CgroupDriver, Node};
use crate::pod::quantity::Quantity;

/// The period of the CPU quota, in microseconds.
const PERIOD: i64 = 100_000;
const MIN_QUOTA: i64 = 1000;
/// One CPU's worth.
const SHARES: i64 = 1024;
const MIN_SHARES: i64 = 2;
/// What the kernel takes at most.
const MAX_SHARES: i64 = 262_144;

/// The cgroup of a Pod.
pub(super) fn cgroup_parent(pod: &Pod, uid: &str, node: &Node) -> String {
    let class = match Class::of(pod) {
        Class::Guaranteed => None,
        Class::Burstable => Some("burstable"),
        Class::BestEffort => Some("besteffort"),
    };
    let root = node.cgroup_root.split('/').filter(|part| !part.is_empty());
    let pod = format!("pod{uid}");
    let parts = root.chain(["kubepods"]).chain(class).chain([pod.as_str()]);
    match node.cgroup_driver {
        CgroupDriver::Cgroupfs => parts.map(|part| format!("/{part}")).collect(),
        CgroupDriver::Systemd => {
            let mut slice = String::new();
            let mut path = String::new();
            for part in parts {
                // Within a name a dash would be one more level.
                let part = part.replace('-', "_");
                let dash = if slice.is_empty() { "" } else { "-" };
                slice += &format!("{dash}{part}");
                path += &format!("/{slice}.slice");
            }
            path
        }
    }
}

/// What a container may use.
pub(super) fn of_container(pod: &Pod, container: &Container, node: &Node) -> Resources {
    let or_of_pod = |name| match limit(container, name) {
        Quantity::ZERO => pod_amount(&pod.spec.resources.limits, name),
        limit => limit,
    };
    let limits = (or_of_pod("cpu"), or_of_pod("memory"));
    let cpu = said(&container.resources.requests, "cpu");
    let cpu = cpu.or_else(|| said(&container.resources.limits, "cpu"));
    let score = oom::score(pod, container, node);
    resources(cpu.unwrap_or(limits.0), limits, Some(score))
}

/// What a Pod's containers need together.
pub(super) fn of_pod(pod: &Pod) -> Resources {
    let limits = (limit_of_all(pod, "cpu"), limit_of_all(pod, "memory"));
    resources(request_of_all(pod, "cpu"), limits, None)
}

/// What a Pod needs besides its containers.
pub(super) fn overhead(pod: &Pod, class: Option<&RuntimeClass>) -> Option<Resources> {
    let of_class = class.and_then(|class| class.overhead.as_ref());
    let amounts = match (&pod.spec.overhead, of_class) {
        (own, _) if !own.is_empty() => own,
        (_, Some(overhead)) => &overhead.pod_fixed,
        (_, None) => return None,
    };
    let amount = |name| amounts.get(name).copied().unwrap_or_default();
    let (cpu, memory) = (amount("cpu"), amount("memory"));
    Some(resources(cpu, (cpu, memory), None))
}

fn resources(
    cpu: Quantity,
    (cpu_limit, memory_limit): (Quantity, Quantity),
    oom_score_adj: Option<i64>,
) -> Resources {
    let shares = cpu.milli().saturating_mul(SHARES) / 1000;
    let shares = shares.clamp(MIN_SHARES, MAX_SHARES);
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

    fn node(cgroup_driver: CgroupDriver) -> Node {
        Node {
            memory: 16 << 30,
            cgroup_driver,
            ..Node::new("n", 0)
        }
    }

    fn played(resources: &str) -> (String, Resources) {
        let pod = pod(resources);
        let node = node(CgroupDriver::Cgroupfs);
        (
            cgroup_parent(&pod, "u", &node),
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
        let (_, resources) = played("{limits: {cpu: 1e18}}");
        assert_eq!(resources.cpu_quota, i64::MAX / 1000);
        assert_eq!(resources.cpu_shares, MAX_SHARES.unsigned_abs());
        let text = "limits: {cpu: 9e18}";
        let pod = pod(&format!("{{{text}}}}}, {{name: d, resources: {{{text}}}"));
        assert_eq!(of_pod(&pod).cpu_shares, MAX_SHARES.unsigned_abs());
    }

    #[test]
    fn who_asks_for_less_than_it_may_use_is_scored_by_its_request() {
        let (cgroup, resources) = played("{requests: {memory: 4Gi}, limits: {memory: 8Gi}}");
        assert_eq!(cgroup, "/kubepods/burstable/podu");
        assert_eq!(resources.oom_score_adj, Some(750));
    }

    #[test]
    fn systemd_has_a_slice_for_each_level() {
        let node = Node {
            cgroup_root: "/kubelet".to_owned(),
            ..node(CgroupDriver::Systemd)
        };
        assert_eq!(
            cgroup_parent(&pod("{}"), "a-b", &node),
            "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice\
             /kubelet-kubepods-besteffort-poda_b.slice"
        );
    }
}
