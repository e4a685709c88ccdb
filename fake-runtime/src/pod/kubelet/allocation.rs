//! The devices that a device plugin or a DRA driver gave a Pod's containers.

use super::in_order;
use crate::nvidia::MOST_GPUS;
use crate::pod::cri::Device;
use crate::pod::manifest::{Container, Pod};
use crate::pod::node::{gpu, gpu_control};
use crate::pod::quantity::Quantity;

const GPU_RESOURCE: &str = "nvidia.com/gpu";

/// What is given to containers. It goes to those that ask: with a limit of `nvidia.com/gpu`, or with a resource
/// claim. Where none of a Pod asks, it goes to every one that is no init container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocation {
    /// That many GPUs to each, as device nodes; `None` is as many as its limit says. All together get no more than a
    /// node can have.
    pub gpus: Option<u32>,
    /// These devices to each, by their CDI names.
    pub cdi: Vec<String>,
}

impl Allocation {
    pub(super) fn cdi_devices(&self, pod: &Pod, container: &Container) -> Vec<String> {
        if is_given(pod, container) {
            self.cdi.clone()
        } else {
            Vec::new()
        }
    }
}

/// Hands a Pod's GPUs out, one container after the other.
pub(super) struct Gpus<'a> {
    pod: &'a Pod,
    allocation: &'a Allocation,
    next: u32,
}

impl<'a> Gpus<'a> {
    pub(super) fn new(pod: &'a Pod, allocation: &'a Allocation) -> Self {
        Self {
            pod,
            allocation,
            next: 0,
        }
    }

    /// The device nodes for the next container.
    pub(super) fn next(&mut self, container: &Container) -> Vec<Device> {
        let count = self.count(container).min(MOST_GPUS - self.next);
        if count == 0 {
            return Vec::new();
        }
        let first = self.next;
        // An init container gives its GPUs back before the others start.
        if self
            .pod
            .spec
            .containers
            .iter()
            .any(|it| std::ptr::eq(it, container))
        {
            self.next += count;
        }
        (first..first + count)
            .map(gpu)
            .chain(gpu_control())
            .collect()
    }

    fn count(&self, container: &Container) -> u32 {
        match self.allocation.gpus {
            Some(gpus) if is_given(self.pod, container) => gpus,
            Some(_) => 0,
            // Whoever simulates CDI gets no device nodes besides.
            None if !self.allocation.cdi.is_empty() => 0,
            None => u32::try_from(limit(container).units()).unwrap_or(0),
        }
    }
}

fn is_given(pod: &Pod, container: &Container) -> bool {
    if in_order(pod).any(asks) {
        return asks(container);
    }
    pod.spec
        .containers
        .iter()
        .any(|it| std::ptr::eq(it, container))
}

fn asks(container: &Container) -> bool {
    limit(container) > Quantity::default() || !container.resources.claims.is_empty()
}

fn limit(container: &Container) -> Quantity {
    container
        .resources
        .limits
        .get(GPU_RESOURCE)
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::manifest::parse;

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
        let mut gpus = Gpus::new(pod, allocation);
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
