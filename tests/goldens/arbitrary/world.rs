//! What is staged, and the rest of the world.

use nri_model::cdi::{Specification, SpecifiedNode};
use nri_model::tree::{Device, Node, Tree};
use nri_model::{Gate, Runtime, World};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;

use super::text::text_or;

/// Places where something may be looked for, under the default flags and under those that are generated.
const PLACES: &[&str] = &[
    "/var/lib/nvml-mock",
    "/var/lib/nvml-mock/driver",
    "/var/lib/nvml-mock/driver/config",
    "/var/lib/nvml-mock/driver/dev",
    "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels",
    "/var/lib/nvml-mock/driver/usr/bin/nvidia-imex.real",
    "/var/lib/nvml-mock/topology/topology.yaml",
    "/var/lib/nvml-mock/driver/config/config.yaml",
    "/var/lib/nvml-mock/x",
    "/var/lib/nvml-mock/ib/sys/class/infiniband",
    "/var/lib/nvml-mock/ib/sys/class/infiniband/mlx5_0",
    "/var/run/cdi/nvml-mock-nri.yaml",
    "/ov",
    "/ov/driver/config",
    "/ov/driver/dev",
    "/dev2",
    "/t.yaml",
];
/// Where a CDI specification may be.
const SPECIFICATIONS: &[&str] = &["/var/run/cdi/nvml-mock-nri.yaml", "/t.yaml"];
const DIRECTORIES: &[&str] = &[
    "/var/lib/nvml-mock/driver/dev",
    "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels",
    "/ov/driver/dev",
    "/dev2",
];
const NAMES: &[&str] = &[
    "nvidia0",
    "nvidia1",
    "nvidia10",
    "nvidia2",
    "nvidiactl",
    "nvidia-uvm",
    "nvidia",
    "xnvidia",
    "channel0",
    "channel1",
    "channel10",
    "channel",
    "mem",
    "Nvidia0",
];

/// An overlay as the node agent stages it.
const STAGED: &[(&str, Node)] = &[
    ("driver/config", Node::Directory),
    ("driver/usr/bin/nvidia-imex.real", Node::File),
    ("topology/topology.yaml", Node::File),
    ("ib/sys/class/infiniband/mlx5_0", Node::Directory),
];

/// A world.
pub(crate) fn world() -> impl Strategy<Value = World> {
    (
        tree(),
        prop_oneof![3 => Just(Gate::Open), 1 => Just(Gate::Closed)],
        select(
            &[
                Runtime::ContainerdBefore2_1,
                Runtime::Containerd2_1,
                Runtime::Containerd2_1,
                Runtime::Containerd2_2,
                Runtime::Containerd2_2,
                Runtime::CriOBefore1_34,
                Runtime::CriO,
            ][..],
        ),
        prop_oneof![
            2 => Just([].into()),
            1 => btree_set(select(&[195, 234, 510][..]), 0..3),
        ],
    )
        .prop_map(|(tree, gate, runtime, nvidia_majors)| World {
            tree,
            gate,
            runtime,
            nvidia_majors,
        })
}

fn tree() -> impl Strategy<Value = Tree> {
    let places = vec((select(PLACES), node()), 0..8);
    let specifications = vec((select(SPECIFICATIONS), specification()), 0..3);
    let entries = vec((select(DIRECTORIES), text_or(NAMES), node()), 0..10);
    let staged = prop_oneof![1 => Just(0), 2 => Just(1), 1 => Just(STAGED.len())];
    (staged, places, entries, specifications).prop_map(
        |(staged, places, entries, specifications)| {
            let mut tree = Tree::default();
            for overlay in ["/var/lib/nvml-mock", "/ov"] {
                for (place, node) in &STAGED[..staged] {
                    tree.add(&format!("{overlay}/{place}"), node.clone());
                }
            }
            for (place, node) in places {
                tree.add(place, node);
            }
            for (place, specification) in specifications {
                tree.add(place, Node::Specification(specification));
            }
            for (directory, name, node) in entries {
                let name: String = name
                    .chars()
                    .filter(|c| !matches!(c, '/' | '\0'))
                    .take(60)
                    .collect();
                if !name.is_empty() && name != "." && name != ".." {
                    tree.add(&format!("{directory}/{name}"), node);
                }
            }
            tree
        },
    )
}

/// Mostly of the default CDI device.
fn specification() -> impl Strategy<Value = Specification> {
    let nodes = || vec(specified_node(), 0..3);
    let named = |name: &str| (Just(name.to_owned()), nodes());
    let devices = prop_oneof![
        4 => named("all").prop_map(|device| vec![device]),
        1 => vec(prop_oneof![named("all"), named("d")], 0..3),
    ];
    let kind = select(
        &[
            "nvml-mock.nvidia.com/gpu",
            "nvml-mock.nvidia.com/gpu",
            "nvml-mock.nvidia.com/gpu",
            "v.io/c",
        ][..],
    );
    (kind, devices, nodes()).prop_map(|(kind, devices, nodes)| Specification {
        kind: kind.into(),
        devices,
        nodes,
    })
}

fn specified_node() -> impl Strategy<Value = SpecifiedNode> {
    let paths = &[
        "/dev/nvidia0",
        "/var/lib/nvml-mock/driver/dev/nvidia0",
        "/var/lib/nvml-mock//driver/dev/../dev/nvidia1",
        "/var/lib/nvml-mock/driver/config",
        "/dev2/nvidia0",
        "nvidia0",
        "",
    ][..];
    let major = select(&[0, 0, 195, 234][..]);
    (select(paths), select(paths), major).prop_map(|(path, host_path, major)| SpecifiedNode {
        path: path.into(),
        host_path: host_path.into(),
        major,
    })
}

fn node() -> impl Strategy<Value = Node> {
    let target = select(
        &[
            "gone",
            "nvidia0",
            "/dev2",
            "/t.yaml",
            "..",
            ".",
            "/var/lib/nvml-mock",
            "nvidia1",
        ][..],
    );
    prop_oneof![
        4 => Just(Node::Directory),
        3 => Just(Node::File),
        1 => Just(Node::Fifo),
        8 => device().prop_map(Node::Character),
        1 => device().prop_map(Node::Block),
        2 => target.prop_map(|target| Node::Link(target.into())),
    ]
}

fn device() -> impl Strategy<Value = Device> {
    (
        select(&[195, 234, 510, 0, 4095][..]),
        select(&[0, 1, 255, 1_048_575][..]),
        select(&[0o666, 0o600, 0, 0o7777][..]),
        select(&[0, 1000, u32::MAX][..]),
        select(&[0, 44][..]),
    )
        .prop_map(|(major, minor, mode, uid, gid)| Device {
            major,
            minor,
            mode,
            uid,
            gid,
        })
}
