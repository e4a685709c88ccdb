//! Mounts, what the overlay's gate does, and the warnings about what it holds.

use super::*;

const ARGS: [&str; 2] = [
    "--overlay-host-path=/var/lib/nvml-mock",
    "--overlay-mount-path=/mnt/gpu",
];

#[test]
fn the_overlay_is_mounted_read_only_and_its_configuration_writable_on_top() {
    for pod in [pod(&[DEVICES]), pod(&[INFINIBAND])] {
        let mounts = adjustment(decide(&ARGS, &Tree::staged(), &pod, &container(&[]))).mounts;
        assert_eq!(
            mounts,
            [
                BindMount {
                    source: "/var/lib/nvml-mock".to_owned(),
                    destination: "/mnt/gpu".to_owned(),
                    options: &["rbind", "rprivate", "ro", "nosuid", "nodev"],
                },
                BindMount {
                    source: "/var/lib/nvml-mock/driver/config".to_owned(),
                    destination: "/mnt/gpu/driver/config".to_owned(),
                    options: &["rbind", "rprivate", "rw", "nosuid", "nodev"],
                },
            ]
        );
    }
}

#[test]
fn an_overlay_at_the_root_is_spelled_with_single_slashes() {
    let args = ["--overlay-host-path=/", "--overlay-mount-path=//"];
    let adjustment = adjustment(decide(
        &args,
        &Tree::staged(),
        &pod(&[DEVICES]),
        &container(&[]),
    ));
    let destinations: Vec<_> = adjustment
        .mounts
        .iter()
        .map(|mount| mount.destination.as_str())
        .collect();
    assert_eq!(destinations, ["/", "/driver/config"]);
    assert_eq!(adjustment.env[0].1, "/driver/usr/bin");
}

#[test]
fn an_overlay_that_is_not_staged_is_mounted_all_the_same_and_warned_of() {
    let unstaged = Tree::default().directory("/var/lib/nvml-mock/driver");
    for (tree, path) in [
        (Tree::default(), "/var/lib/nvml-mock"),
        (unstaged.clone(), "/var/lib/nvml-mock/driver/config"),
        (
            unstaged.file("/var/lib/nvml-mock/driver/config"),
            "/var/lib/nvml-mock/driver/config",
        ),
    ] {
        let decision = decide(&[], &tree, &pod(&[]), &allocated());
        let path = path.to_owned();
        assert_eq!(decision.warnings, [Warning::OverlayNotStaged { path }]);
        assert_eq!(adjustment(decision).mounts.len(), 2);
    }
}

#[test]
fn with_the_gate_an_overlay_that_is_not_staged_leaves_the_container_alone() {
    let args = ["--feature-gates=RequireStagedOverlay=true"];
    let unstaged = Tree::default().directory("/var/lib/nvml-mock/driver");
    for annotations in [&[DEVICES][..], &[INFINIBAND], &[INFINIBAND, IMEX]] {
        let decision = decide(&args, &unstaged, &pod(annotations), &container(&[]));
        assert_eq!(
            decision.outcome,
            Outcome::Unmodified(Reason::OverlayNotStaged)
        );
        assert_eq!(decision.warnings, []);
    }
    let staged = decide(&args, &Tree::staged(), &pod(&[DEVICES]), &container(&[]));
    assert_eq!(adjustment(staged).mounts.len(), 2);
}

#[test]
fn the_gate_does_not_concern_a_container_without_the_overlay() {
    let args = ["--feature-gates=RequireStagedOverlay=true"];
    let channels = "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels/channel0";
    let tree = Tree::default().char_device(channels, 234, 0);
    let adjustment = adjustment(decide(&args, &tree, &pod(&[IMEX]), &container(&[])));
    assert_eq!(adjustment.devices.len(), 1);
    assert_eq!(adjustment.mounts, []);
}

#[test]
fn infiniband_brings_no_device() {
    let adjustment = adjustment(decide(
        &[],
        &Tree::staged(),
        &pod(&[INFINIBAND]),
        &container(&[]),
    ));
    assert_eq!(
        (adjustment.devices, adjustment.cdi_devices),
        (vec![], vec![])
    );
}

#[test]
fn infiniband_with_an_adapter_is_nothing_to_warn_of() {
    let decision = decide(&[], &Tree::staged(), &pod(&[INFINIBAND]), &container(&[]));
    assert_eq!(decision.warnings, []);
}

#[test]
fn infiniband_without_an_adapter_is_warned_of() {
    let class = "/var/lib/nvml-mock/ib/sys/class/infiniband";
    let overlay = Tree::default().directory("/var/lib/nvml-mock/driver/config");
    for (tree, cause) in [
        (overlay.clone(), "entity not found"),
        (overlay.clone().directory(class), "it is empty"),
        (overlay.file(class), "not a directory"),
    ] {
        let decision = decide(&[], &tree, &pod(&[INFINIBAND]), &container(&[]));
        let (path, cause) = (class.to_owned(), cause.to_owned());
        assert_eq!(
            decision.warnings,
            [Warning::NoInfinibandDevices { path, cause }]
        );
        assert_eq!(adjustment(decision).mounts.len(), 2);
    }
}

#[test]
fn a_gpu_container_is_told_its_place_only_with_a_node_name_and_a_document() {
    let named = ["--node-name=n1"];
    let (staged, with_topology) = (Tree::staged(), Tree::staged().with_topology());
    for (args, tree, pod, told) in [
        (&named[..], &with_topology, pod(&[DEVICES]), true),
        (&named, &staged, pod(&[DEVICES]), false),
        (&[], &with_topology, pod(&[DEVICES]), false),
        (&named, &with_topology, pod(&[INFINIBAND]), false),
    ] {
        let env = adjustment(decide(args, tree, &pod, &container(&[]))).env;
        let place: Vec<_> = env
            .into_iter()
            .filter(|(key, _)| ["NODE_NAME", "MOCK_TOPOLOGY_CONFIG"].contains(&key.as_str()))
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        let expected = [
            "NODE_NAME=n1",
            "MOCK_TOPOLOGY_CONFIG=/opt/nvml-mock/topology/topology.yaml",
        ];
        assert_eq!(place, if told { &expected[..] } else { &[] });
    }
}

#[test]
fn a_key_that_stands_twice_is_changed_from_its_last_value_and_warned_of() {
    let twice = container(&[
        "PATH=/a",
        "X=1",
        "PATH=/b",
        "X=2",
        "MOCK_PCI_ROOT=/",
        "MOCK_PCI_ROOT=/",
    ]);
    let decision = decide(&[], &Tree::staged(), &pod(&[DEVICES]), &twice);
    let keys = vec!["PATH".to_owned()];
    assert_eq!(decision.warnings, [Warning::RepeatedEnv { keys }]);
    let first = adjustment(decision).env.remove(0);
    assert_eq!(
        first,
        (
            "PATH".to_owned(),
            "/opt/nvml-mock/driver/usr/bin:/b".to_owned()
        )
    );
}
