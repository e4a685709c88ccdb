//! What can change the decision, and the values that it can have.

/// One input.
#[derive(Debug)]
pub(crate) struct Dimension {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its values; the first is the ordinary one.
    pub(crate) values: &'static [&'static str],
}

const fn dimension(name: &'static str, values: &'static [&'static str]) -> Dimension {
    Dimension { name, values }
}

/// How many inputs there are.
pub(crate) const COUNT: usize = 22;

pub(crate) const OPT_OUT: usize = 0;
pub(crate) const DEVICES: usize = 1;
pub(crate) const INFINIBAND: usize = 2;
pub(crate) const IMEX: usize = 3;
pub(crate) const NAMESPACE: usize = 4;
pub(crate) const DAEMON: usize = 5;
pub(crate) const ALLOCATION: usize = 6;
pub(crate) const VOLUME: usize = 7;
pub(crate) const USER_NAMESPACE: usize = 8;
pub(crate) const AUTHORED: usize = 9;
pub(crate) const MODE: usize = 10;
pub(crate) const NODE_NAME: usize = 11;
pub(crate) const DAEMON_STAGING: usize = 12;
pub(crate) const REQUIRE_STAGED: usize = 13;
pub(crate) const GATE: usize = 14;
pub(crate) const RUNTIME: usize = 15;
pub(crate) const OVERLAY_STAGED: usize = 16;
pub(crate) const GPUS_STAGED: usize = 17;
pub(crate) const CHANNELS_STAGED: usize = 18;
pub(crate) const TOPOLOGY_STAGED: usize = 19;
pub(crate) const CDI_STAGED: usize = 20;
pub(crate) const BINARY_STAGED: usize = 21;

/// Every input: first the request's, then the command line's, then the world's.
pub(crate) const DIMENSIONS: [Dimension; COUNT] = [
    dimension("opt-out annotation", &["absent", "true", "false"]),
    dimension("devices annotation", &["absent", "true", "false"]),
    dimension("infiniband annotation", &["absent", "true", "false"]),
    dimension("imex-channels annotation", &["absent", "true", "false"]),
    dimension("namespace", &["ordinary", "excluded"]),
    dimension("container", &["ordinary", "ComputeDomain daemon"]),
    dimension(
        "allocation",
        &[
            "none",
            "raw device",
            "device plugin CDI",
            "DRA CDI",
            "privileged look-alike",
        ],
    ),
    dimension(
        "volume",
        &[
            "none",
            "at the overlay",
            "shared, above the overlay",
            "below the overlay, without a place",
            "over its configuration",
        ],
    ),
    dimension("user namespace", &["no", "yes"]),
    dimension("authored environment", &["none", "paths", "MOCK_*"]),
    dimension("--device-injection-mode", &["raw", "cdi"]),
    dimension("--node-name", &["not set", "set"]),
    dimension("--compute-domain-staging", &["off", "on"]),
    dimension("RequireStagedOverlay", &["off", "on"]),
    dimension("staging gate", &["off", "open", "closed"]),
    dimension("containerd", &["2.3", "2.1", "1.7"]),
    dimension("overlay staged", &["yes", "no"]),
    dimension("GPUs staged", &["some", "none"]),
    dimension("IMEX channels staged", &["some", "none"]),
    dimension("topology staged", &["yes", "no"]),
    dimension("CDI spec staged", &["yes", "stale", "no"]),
    dimension("nvidia-imex.real staged", &["yes", "no"]),
];

/// Where the CDI specification is.
pub(crate) const SPECIFICATION: &str = "/var/run/cdi/nvml-mock-nri.yaml";

/// What is staged where, by the dimension that says whether it is.
pub(crate) const STAGED: [(usize, &str); 7] = [
    (OVERLAY_STAGED, "/var/lib/nvml-mock/driver/config"),
    (GPUS_STAGED, "/var/lib/nvml-mock/driver/dev/nvidia0"),
    (GPUS_STAGED, "/var/lib/nvml-mock/driver/dev/nvidiactl"),
    (
        CHANNELS_STAGED,
        "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels/channel0",
    ),
    (TOPOLOGY_STAGED, "/var/lib/nvml-mock/topology/topology.yaml"),
    (CDI_STAGED, SPECIFICATION),
    (
        BINARY_STAGED,
        "/var/lib/nvml-mock/driver/usr/bin/nvidia-imex.real",
    ),
];
