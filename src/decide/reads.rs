//! What of a request's lists the decision reads. The rest of them need not be kept.

use super::compute_domain::DOMAIN_LABEL;
use crate::config::Config;

/// The variables that are given, or tell that a copy of this plugin has been there.
const VARIABLES: [&str; 12] = [
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MOCK_NVML_CONFIG",
    "MOCK_PCI_ROOT",
    "GFD_MACHINE_TYPE_FILE",
    "NODE_NAME",
    "MOCK_TOPOLOGY_CONFIG",
    "MOCK_NVML_VISIBLE_DEVICES",
    "MOCK_IB",
    "MOCK_IB_ROOT",
    "MOCK_IB_PING_SOCKET",
];

/// The options of a Bidirectional volume.
const OPTIONS: [&str; 2] = ["shared", "rshared"];

/// Whether the container's value of the variable `key` matters.
pub fn reads_variable(key: &str) -> bool {
    VARIABLES.contains(&key)
}

/// Whether an option of one of the container's mounts matters.
pub fn reads_option(option: &str) -> bool {
    OPTIONS.contains(&option)
}

/// Whether the pod's label `key` matters.
pub fn reads_label(key: &str) -> bool {
    key == DOMAIN_LABEL
}

/// Whether the pod's annotation `key` matters.
pub fn reads_annotation(config: &Config, key: &str) -> bool {
    [
        &config.opt_out_annotation,
        &config.device_annotation,
        &config.infiniband_annotation,
        &config.imex_channel_annotation,
    ]
    .iter()
    .any(|configured| *configured == key)
}
