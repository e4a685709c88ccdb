//! Which GPUs a device plugin gives a Pod's containers.

use super::allocation::{is_given, limit};
use super::told::Kubelet;
use crate::nvidia::MOST_GPUS;
use crate::pod::cri::Device;
use crate::pod::manifest::{Container, Pod};
use crate::pod::node::{gpu, gpu_control};

/// Hands a Pod's GPUs out, one container after the other.
pub(super) struct Gpus<'a> {
    pod: &'a Pod,
    kubelet: &'a Kubelet<'a>,
    /// How many were ever given.
    next: u32,
    /// Those of init containers, which the later ones use again.
    again: Vec<u32>,
}

impl<'a> Gpus<'a> {
    pub(super) fn new(pod: &'a Pod, kubelet: &'a Kubelet<'a>) -> Self {
        Self {
            pod,
            kubelet,
            next: 0,
            again: Vec::new(),
        }
    }

    /// The device nodes for the next container.
    pub(super) fn next(&mut self, container: &Container) -> Vec<Device> {
        if let Some(given) = self.kubelet.allocation.known.get(&container.name) {
            return given.devices.clone();
        }
        let count = self.count(container);
        if count == 0 {
            return Vec::new();
        }
        let mut numbers = self.numbers(container, count);
        if let Some(seed) = self.kubelet.shuffle {
            fastrand::Rng::with_seed(seed).shuffle(&mut numbers);
        }
        let control = self.kubelet.node.gpu_control_nodes && !numbers.is_empty();
        let mut devices: Vec<_> = numbers.into_iter().map(gpu).collect();
        devices.extend(control.then(gpu_control).into_iter().flatten());
        devices
    }

    fn numbers(&mut self, container: &Container, count: u32) -> Vec<u32> {
        let there = u32::try_from(self.again.len()).unwrap_or(u32::MAX);
        let again = there.min(count);
        let mut numbers: Vec<u32> = self.again.drain(..again as usize).collect();
        let fresh = (count - again).min(MOST_GPUS - self.next);
        numbers.extend(self.next..self.next + fresh);
        self.next += fresh;
        let is = |it: &Container| std::ptr::eq(it, container);
        let ends_before_others =
            self.pod.spec.init_containers.iter().any(is) && container.restart_policy != "Always";
        if ends_before_others {
            self.again.extend(&numbers);
            self.again.sort_unstable();
        }
        numbers
    }

    fn count(&self, container: &Container) -> u32 {
        let allocation = self.kubelet.allocation;
        match allocation.gpus {
            Some(gpus) if is_given(self.pod, container) => gpus,
            Some(_) => 0,
            // Whoever simulates CDI gets no device nodes besides.
            None if !allocation.cdi.is_empty() => 0,
            None => u32::try_from(limit(container)).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::cluster::Cluster;
    use crate::pod::kubelet::order::in_order;
    use crate::pod::kubelet::{Allocation, Source};
    use crate::pod::manifest::parse;
    use crate::pod::node::Node;

    const GPU: &str = "resources: {limits: {nvidia.com/gpu: 2}}";

    fn pod(init: &str, first: &str, second: &str) -> Pod {
        let text = format!(
            "kind: Pod
metadata: {{name: p}}
spec:
  initContainers: [{{name: i, {init}}}]
  containers: [{{name: a, {first}}}, {{name: b, {second}}}]"
        );
        parse(&text).unwrap().remove(0)
    }

    fn gpus(pod: &Pod, allocation: &Allocation) -> Vec<Vec<String>> {
        let (node, cluster) = (Node::new("n", 0), Cluster::default());
        let kubelet = Kubelet {
            node: &node,
            profile: Default::default(),
            cluster: &cluster,
            allocation,
            source: Source::Api,
            shuffle: None,
        };
        let mut gpus = Gpus::new(pod, &kubelet);
        let numbered = |device: Device| {
            device
                .path
                .strip_prefix("/dev/nvidia")
                .filter(|rest| rest.parse::<u32>().is_ok())
                .map(str::to_owned)
        };
        in_order(pod)
            .map(|it| gpus.next(it).into_iter().filter_map(numbered).collect())
            .collect()
    }

    #[test]
    fn limits_are_what_containers_get() {
        let pod = pod(GPU, GPU, GPU);
        assert_eq!(
            gpus(&pod, &Allocation::default()),
            [["0", "1"], ["0", "1"], ["2", "3"]]
        );
    }

    #[test]
    fn what_an_init_container_had_is_used_again_and_a_sidecar_keeps_its_own() {
        let one = "resources: {limits: {nvidia.com/gpu: 1}}";
        let sidecar = format!("restartPolicy: Always, {one}");
        assert_eq!(
            gpus(&pod(GPU, one, one), &Allocation::default()),
            [vec!["0", "1"], vec!["0"], vec!["1"]]
        );
        assert_eq!(
            gpus(&pod(&sidecar, one, one), &Allocation::default()),
            [["0"], ["1"], ["2"]]
        );
    }

    #[test]
    fn shares_and_parts_of_gpus_count_as_gpus() {
        let shared = "resources: {limits: {nvidia.com/gpu.shared: 1}}";
        let mig = "resources: {limits: {nvidia.com/mig-1g.5gb: 1, nvidia.com/mig-2g.10gb: 1}}";
        let other = "resources: {limits: {nvidia.com/other: 1}}";
        let pod = pod(other, shared, mig);
        assert_eq!(
            gpus(&pod, &Allocation::default()),
            [vec![], vec!["0"], vec!["1", "2"]]
        );
    }

    #[test]
    fn who_asks_for_more_than_a_node_can_have_gets_what_there_is() {
        let huge = "resources: {limits: {nvidia.com/gpu: 1Gi}}";
        let given = gpus(&pod("", huge, huge), &Allocation::default());
        let counts: Vec<_> = given.iter().map(Vec::len).collect();
        assert_eq!(counts, [0, 254, 0]);
    }

    #[test]
    fn who_asks_gets_what_the_option_says() {
        let allocation = Allocation {
            gpus: Some(1),
            ..Default::default()
        };
        let none: [&str; 0] = [];
        assert_eq!(
            gpus(&pod("", GPU, ""), &allocation),
            [&none[..], &["0"], &none]
        );
        assert_eq!(
            gpus(&pod("", "", ""), &allocation),
            [&none[..], &["0"], &["1"]]
        );
    }

    #[test]
    fn a_cdi_device_takes_the_place_of_device_nodes() {
        let allocation = Allocation {
            cdi: vec!["v/c=0".to_owned()],
            ..Default::default()
        };
        let pod = pod("", "resources: {claims: [{name: x}]}", "");
        let containers = &pod.spec.containers;
        assert_eq!(allocation.cdi_devices(&pod, &containers[0]), ["v/c=0"]);
        assert!(allocation.cdi_devices(&pod, &containers[1]).is_empty());
        assert!(gpus(&pod, &allocation).iter().all(Vec::is_empty));
    }
}
