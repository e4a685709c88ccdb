//! The plugin's part of what a container sees.

use serde_json::Value;

use crate::inside::{Inside, MountPoint};
use crate::node::Node;

/// Where containers find the mock driver.
pub const OVERLAY: &str = "/opt/nvml-mock";

/// What the mock driver preloads into every program.
pub const SHIMS: &str = "/opt/nvml-mock/driver/usr/local/lib/libibmockumad.so.1:\
                         /opt/nvml-mock/driver/usr/local/lib/libibmockverbs.so.1:\
                         /opt/nvml-mock/driver/usr/local/lib/libibmocksys.so.1:\
                         /opt/nvml-mock/driver/usr/local/lib/libmockfs.so.1";

/// The pod annotation that asks for every mock GPU.
pub const DEVICES: &str = "nvml-mock.nvidia.com/devices";

/// The pod annotation that asks for mock InfiniBand.
pub const INFINIBAND: &str = "nvml-mock.nvidia.com/infiniband";

/// The pod annotation that asks for IMEX channels.
pub const IMEX_CHANNELS: &str = "nvml-mock.nvidia.com/imex-channels";

/// The pod annotation that keeps the plugin away when it says `false`.
pub const OPT_OUT: &str = "nvml-mock.nvidia.com/inject";

/// The device nodes of a whole mock driver, by name.
pub const EVERY_GPU: [&str; 9] = [
    "nvidia-modeset",
    Node::OPENABLE,
    "nvidia-uvm",
    "nvidia-uvm-tools",
    "nvidia0",
    "nvidia1",
    "nvidia2",
    "nvidia3",
    "nvidiactl",
];

/// What there is of the mock driver in a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surfaces {
    /// The mounts at and below [`OVERLAY`], as path and access.
    pub mounts: Vec<String>,
    /// The names of the device nodes `/dev/nvidia*`.
    pub gpus: Vec<String>,
    /// The names of the IMEX channels.
    pub imex_channels: Vec<String>,
    /// What the mock GPU library is told to show; nothing is everything.
    pub visible_devices: Option<String>,
    /// What the mock InfiniBand shims are told to be.
    pub infiniband: Option<String>,
}

impl Surfaces {
    /// What the plugin has no part in.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The overlay for GPUs, with the device nodes of these names.
    #[must_use]
    pub fn gpus(names: &[&str]) -> Self {
        Self {
            mounts: overlay_mounts(),
            gpus: names.iter().map(|&name| name.to_owned()).collect(),
            infiniband: Some("off".to_owned()),
            ..Self::none()
        }
    }

    /// The overlay for GPUs, with every device node of a whole mock driver.
    #[must_use]
    pub fn every_gpu() -> Self {
        Self::gpus(&EVERY_GPU)
    }

    /// The overlay for InfiniBand alone.
    #[must_use]
    pub fn infiniband() -> Self {
        Self {
            mounts: overlay_mounts(),
            visible_devices: Some("none".to_owned()),
            infiniband: Some("full".to_owned()),
            ..Self::none()
        }
    }

    /// What a container sees of the mock driver.
    #[must_use]
    pub fn of(inside: &Inside) -> Self {
        Self {
            mounts: mounts(inside),
            gpus: names(inside, "/dev/nvidia"),
            imex_channels: names(inside, "/dev/nvidia-caps-imex-channels/"),
            visible_devices: inside.env("MOCK_NVML_VISIBLE_DEVICES").map(str::to_owned),
            infiniband: inside.env("MOCK_IB").map(str::to_owned),
        }
    }
}

/// The two mounts of the overlay: read-only, with its configuration writable, because the mock driver
/// clears injected faults there.
fn overlay_mounts() -> Vec<String> {
    vec![
        format!("{OVERLAY} ro,nosuid,nodev"),
        format!("{OVERLAY}/driver/config rw,nosuid,nodev"),
    ]
}

/// Whether an OCI spec mounts the overlay.
#[must_use]
pub(crate) fn mounts_overlay(spec: &Value) -> bool {
    let mounts = spec["mounts"].as_array();
    let mut mounts = mounts.into_iter().flatten();
    mounts.any(|mount| mount["destination"] == OVERLAY)
}

fn mounts(inside: &Inside) -> Vec<String> {
    let mounts = inside.mounts.iter();
    let mounts = mounts.filter(|mount| mount.path.starts_with(OVERLAY));
    mounts
        .map(|MountPoint { path, options, .. }| {
            let access = options.iter().map(String::as_str);
            let access = access.filter(|option| ["ro", "rw", "nosuid", "nodev"].contains(option));
            format!("{path} {}", access.collect::<Vec<_>>().join(","))
        })
        .collect()
}

/// The last parts of the devices that are directly behind `prefix`.
fn names(inside: &Inside, prefix: &str) -> Vec<String> {
    let directory = prefix.rfind('/').map_or(0, |slash| slash + 1);
    let devices = inside.devices_under(prefix).into_iter();
    let names = devices.map(|device| &device.path[directory..]);
    names
        .filter(|name| !name.contains('/'))
        .map(str::to_owned)
        .collect()
}
