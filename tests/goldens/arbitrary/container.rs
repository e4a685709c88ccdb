//! Containers.

use nri_proto::api::{
    CdiDevice, Container, LinuxContainer, LinuxDevice, LinuxDeviceCgroup, LinuxNamespace,
    LinuxResources, Mount, OptionalInt64,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::text::{text, text_or};

const NAMES: &[&str] = &[
    "main",
    "main",
    "main",
    "compute-domain-daemon",
    "Compute-domain-daemon",
    "",
];
const KEYS: &[&str] = &[
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
    "path",
    "HOME",
    "",
];
const VALUES: &[&str] = &[
    "",
    "",
    "/usr/bin:/bin",
    "off",
    "full",
    "none",
    "node-1",
    ":",
    "=",
    "/opt/nvml-mock",
    "/opt/nvml-mock/driver/usr/bin",
    "/mnt/gpu",
    "/data",
    "/data/ib",
    "/",
    "/ib",
];
const DESTINATIONS: &[&str] = &[
    "/proc",
    "/dev",
    "/opt/nvml-mock",
    "/opt/nvml-mock/",
    "/opt//x/../nvml-mock",
    "/opt/nvml-mock/driver",
    "/opt/nvml-mock/driver/config",
    "/opt/nvml-mock/driver//config/config.yaml",
    "/opt/nvml-mock/x",
    "/opt",
    "/opt/x/..",
    "/mnt",
    "/mnt/gpu/driver",
    "/dev/nvidia0",
    "/dev/nvidia-caps-imex-channels",
    "/dev/nvidia-caps-imex-channels/channel0/",
    "/data",
    "/",
    "/mnt/gpu",
    "opt/nvml-mock",
    "",
    "/usr/bin/nvidia-imex.real",
    "/usr//bin/nvidia-imex.real",
];
const DEVICES: &[&str] = &[
    "/dev/nvidia0",
    "/dev/nvidia1",
    "/dev/nvidia4294967295",
    "/dev/nvidia4294967296",
    "/dev/nvidia00",
    "/dev/nvidia+1",
    "/dev/nvidiactl",
    "/dev/nvidia-uvm",
    "/dev/nvidia",
    "/dev/null",
    "/dev/infiniband/uverbs0",
    "/dev/nvidia-caps-imex-channels/channel0",
    "/dev/nvidia-caps-imex-channels/channel1",
    "",
];
const CDI_NAMES: &[&str] = &[
    "k8s.device-plugin.nvidia.com/gpu=0",
    "k8s.device-plugin.nvidia.com/gpu=GPU-1",
    "k8s.device-plugin.nvidia.com/gpu=",
    "k8s.device-plugin.nvidia.com/gpu=a/b",
    "k8s.device-plugin.nvidia.com/gpu=a=b",
    "k8s.device-plugin.nvidia.com/gpu=a b",
    "k8s.device-plugin.nvidia.com/gdrcopy=all",
    "k8s.gpu.nvidia.com/claim=uid-1",
    "k8s.gpu.nvidia.com/claim=",
    "nvidia.com/gpu=0",
    "nvml-mock.nvidia.com/gpu=all",
];

/// A container, or none.
pub(crate) fn container() -> impl Strategy<Value = Option<Container>> {
    let container = (
        text_or(NAMES),
        env(),
        vec(mount(), 0..4),
        option::weighted(0.8, linux()),
        cdi_devices(),
        // What is the container's own is never read: annotations that would decide were they the pod's.
        any::<bool>(),
    );
    let container = container.prop_map(|(name, env, mounts, linux, cdi_devices, annotated)| {
        let annotations = ["devices", "infiniband", "imex-channels"]
            .map(|surface| (format!("nvml-mock.nvidia.com/{surface}"), "true".to_owned()));
        Container {
            name,
            env,
            mounts,
            linux,
            cdi_devices,
            annotations: annotations.into_iter().filter(|_| annotated).collect(),
            ..Default::default()
        }
    });
    option::weighted(0.95, container)
}

fn env() -> impl Strategy<Value = Vec<String>> {
    let item = prop_oneof![
        12 => (text_or(KEYS), text_or(VALUES)).prop_map(|(key, value)| format!("{key}={value}")),
        1 => text(),
    ];
    prop_oneof![
        20 => vec(item, 0..8),
        1 => vec("[A-C]{1,2}=.{0,3}", 0..500),
    ]
}

fn mount() -> impl Strategy<Value = Mount> {
    let source = &[
        "/somewhere",
        "/somewhere",
        "/var/lib/nvml-mock",
        "/var/lib/./nvml-mock/",
        "/ov",
        "",
    ];
    let option = text_or(&[
        "rbind", "rprivate", "ro", "rslave", "rshared", "shared", "Shared",
    ]);
    (
        text_or(DESTINATIONS),
        text_or(&["bind", "bind", "tmpfs", "none", "Bind", ""]),
        text_or(source),
        vec(option, 0..3),
    )
        .prop_map(|(destination, kind, source, options)| Mount {
            destination,
            r#type: kind,
            source,
            options,
        })
}

fn cdi_devices() -> impl Strategy<Value = Vec<CdiDevice>> {
    let device = text_or(CDI_NAMES).prop_map(|name| CdiDevice { name });
    prop_oneof![
        3 => Just(vec![]),
        2 => vec(device, 1..3),
    ]
}

fn linux() -> impl Strategy<Value = LinuxContainer> {
    let devices = prop_oneof![
        30 => vec(device(), 0..4),
        1 => vec(device(), 200..400),
    ];
    let resources = vec(rule(), 0..5).prop_map(|devices| LinuxResources {
        devices,
        ..Default::default()
    });
    let namespace = text_or(&["pid", "mount", "user", "User"]);
    let namespaces = vec(
        namespace.prop_map(|kind| LinuxNamespace {
            r#type: kind,
            ..Default::default()
        }),
        0..3,
    );
    (devices, option::weighted(0.9, resources), namespaces).prop_map(
        |(devices, resources, namespaces)| LinuxContainer {
            devices,
            resources,
            namespaces,
            ..Default::default()
        },
    )
}

fn device() -> impl Strategy<Value = LinuxDevice> {
    (
        text_or(DEVICES),
        text_or(&["c", "c", "c", "b", "C", ""]),
        number(),
        number(),
    )
        .prop_map(|(path, kind, major, minor)| LinuxDevice {
            path,
            r#type: kind,
            major,
            minor,
            ..Default::default()
        })
}

/// Few numbers, so that a rule often meets a device.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        20 => select(&[0, 195, 234][..]),
        1 => any::<i64>(),
    ]
}

fn rule() -> impl Strategy<Value = LinuxDeviceCgroup> {
    let optional = || option::weighted(0.8, number().prop_map(|value| OptionalInt64 { value }));
    (
        prop::bool::weighted(0.8),
        text_or(&["c", "c", "c", "b", "a", ""]),
        optional(),
        optional(),
        text_or(&["rwm", "rw", "r", "w", "m", "", "R"]),
    )
        .prop_map(|(allow, kind, major, minor, access)| LinuxDeviceCgroup {
            allow,
            r#type: kind,
            major,
            minor,
            access,
        })
}
