//! Pods.

use std::collections::BTreeMap;

use nri_proto::api::{LinuxPodSandbox, PodSandbox};
use proptest::collection::btree_map;
use proptest::option;
use proptest::prelude::*;

use super::text::{text, text_or};

const NAMESPACES: &[&str] = &["default", "kube-system", "nvidia", "Default", "foo", ""];
const ANNOTATIONS: &[&str] = &[
    "nvml-mock.nvidia.com/inject",
    "nvml-mock.nvidia.com/devices",
    "nvml-mock.nvidia.com/infiniband",
    "nvml-mock.nvidia.com/imex-channels",
    "nvml-mock.nvidia.com/device",
    "my.io/key",
];
const VALUES: &[&str] = &[
    "true",
    "true",
    "true",
    "True",
    "TRUE",
    "false",
    "FALSE",
    "fal\u{17f}e",
    "true ",
    " true",
    "1",
    "yes",
    "",
];
const LABELS: &[&str] = &[
    "resource.nvidia.com/computeDomain",
    "resource.nvidia.com/computedomain",
    "app",
];

/// A pod, or none.
pub(crate) fn pod() -> impl Strategy<Value = Option<PodSandbox>> {
    let pod = (
        text_or(&["pod", "web-0"]),
        text_or(NAMESPACES),
        btree_map(text_or(LABELS), text_or(&["domain-1", ""]), 0..3),
        annotations(),
        any::<bool>(),
    );
    let pod = pod.prop_map(|(name, namespace, labels, annotations, linux)| PodSandbox {
        name,
        namespace,
        labels,
        annotations,
        linux: linux.then(LinuxPodSandbox::default),
        ..Default::default()
    });
    option::weighted(0.95, pod)
}

fn annotations() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop_oneof![
        20 => btree_map(text_or(ANNOTATIONS), text_or(VALUES), 0..5),
        1 => btree_map(text(), text(), 0..300),
    ]
}
