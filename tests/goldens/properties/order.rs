//! The order of what has no order does not matter.

use nri_proto::api::{Container, CreateContainerRequest, PodSandbox};
use proptest::prelude::*;
use prost::Message;

use super::cases;
use crate::arbitrary::{container, pod, valid_command_line, world};
use crate::plugin;

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn the_order_of_annotations_labels_and_rules_is_irrelevant(
        command_line in valid_command_line(),
        world in world(),
        pod in pod(),
        container in container(),
        seed in any::<u64>(),
    ) {
        let config = plugin::start(&command_line).unwrap();
        let in_order = plugin::request(pod.as_ref(), container.as_ref());
        let shuffled = shuffled(pod.as_ref(), container, seed);
        prop_assert_eq!(
            plugin::answer(&config, &world, &in_order),
            plugin::answer(&config, &world, &shuffled)
        );
    }

    #[test]
    fn a_field_that_the_plugin_does_not_know_is_passed_over(
        world in world(),
        pod in pod(),
        container in container(),
        unknown in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let config = plugin::start(&nri_model::CommandLine::default()).unwrap();
        let mut request = plugin::request(pod.as_ref(), container.as_ref());
        let known = plugin::answer(&config, &world, &request);
        // Field 1000, length-delimited: what a later NRI may send.
        prost::encoding::bytes::encode(1000, &unknown, &mut request);
        prop_assert_eq!(known, plugin::answer(&config, &world, &request));
    }
}

/// The same request with its maps' entries and its rules in another order. A decoder joins the parts of a
/// message that comes in several.
fn shuffled(pod: Option<&PodSandbox>, container: Option<Container>, seed: u64) -> Vec<u8> {
    let mut parts = Vec::new();
    if let Some(pod) = pod {
        let bare = PodSandbox {
            labels: Default::default(),
            annotations: Default::default(),
            ..pod.clone()
        };
        parts.push(bare);
        for (key, value) in &pod.annotations {
            let annotations = [(key.clone(), value.clone())].into();
            parts.push(PodSandbox {
                annotations,
                ..Default::default()
            });
        }
        for (key, value) in &pod.labels {
            let labels = [(key.clone(), value.clone())].into();
            parts.push(PodSandbox {
                labels,
                ..Default::default()
            });
        }
    }
    shuffle(&mut parts, seed);
    let mut container = container;
    if let Some(resources) = container
        .as_mut()
        .and_then(|container| container.linux.as_mut()?.resources.as_mut())
    {
        shuffle(&mut resources.devices, seed);
    }
    let mut bytes = Vec::new();
    for pod in parts {
        bytes.extend(
            CreateContainerRequest {
                pod: Some(pod),
                container: None,
            }
            .encode_to_vec(),
        );
    }
    bytes.extend(
        CreateContainerRequest {
            pod: None,
            container,
        }
        .encode_to_vec(),
    );
    bytes
}

fn shuffle<T>(items: &mut [T], mut seed: u64) {
    for last in (1..items.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        items.swap(last, (seed >> 33) as usize % (last + 1));
    }
}
