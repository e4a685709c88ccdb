//! The container's own volumes around the overlay.

use super::*;

const CONFIG: &str = "/opt/nvml-mock/driver/config";

/// A volume as the kubelet mounts one.
fn volume(destination: &str, options: &[&str]) -> Mount {
    Mount {
        source: "/var/lib/kubelet/pods/uid/volumes/v".to_owned(),
        kind: "bind".to_owned(),
        options: options.iter().map(|it| (*it).to_owned()).collect(),
        ..mount(destination)
    }
}

fn with(mounts: impl IntoIterator<Item = Mount>) -> Container {
    Container {
        mounts: mounts.into_iter().collect(),
        ..container(&[])
    }
}

fn decided(tree: &Tree, volume: Mount) -> Decision {
    decide(&[], tree, &pod(&[DEVICES]), &with([volume]))
}

fn destinations(decision: Decision) -> Vec<String> {
    let mounts = adjustment(decision).mounts.into_iter();
    mounts.map(|mount| mount.destination).collect()
}

#[test]
fn a_bidirectional_volume_above_the_overlay_leaves_the_container_alone() {
    for (destination, option) in [
        ("/opt", "rshared"),
        ("/opt/", "shared"),
        ("/", "rshared"),
        ("/opt/x/..", "rshared"),
        ("//opt", "shared"),
    ] {
        for pod in [pod(&[DEVICES]), pod(&[INFINIBAND, IMEX])] {
            let container = with([volume(destination, &["rbind", option, "rw"])]);
            let decision = decide(&[], &Tree::staged(), &pod, &container);
            let reason = Reason::OverlayWouldPropagate;
            assert_eq!(decision.outcome, Outcome::Unmodified(reason));
            let path = destination.to_owned();
            assert_eq!(decision.warnings, [Warning::OverlayWouldPropagate { path }]);
        }
    }
}

#[test]
fn a_volume_that_does_not_propagate_or_does_not_hold_the_overlay_changes_nothing() {
    for volume in [
        volume("/opt", &["rbind", "rprivate"]),
        volume("/opt", &["rbind", "rslave"]),
        volume("/opt", &[]),
        volume("/op", &["rshared"]),
        volume("/opt/nvml", &["rshared"]),
        volume("/opt/nvml-mock2", &["rshared"]),
        volume("opt", &["rshared"]),
        volume("", &["rshared"]),
    ] {
        let decision = decided(&Tree::staged(), volume);
        assert_eq!(decision.warnings, []);
        assert_eq!(destinations(decision), ["/opt/nvml-mock", CONFIG]);
    }
}

#[test]
fn imex_channels_alone_do_not_propagate() {
    let container = with([volume("/opt", &["rshared"])]);
    let decision = decide(&[], &Tree::staged(), &pod(&[IMEX]), &container);
    assert_eq!(adjustment(decision).devices.len(), 1);
}

#[test]
fn a_volume_for_which_the_overlay_has_no_place_leaves_the_container_alone() {
    let tree = Tree::staged().dangling("/var/lib/nvml-mock/dangling");
    for destination in [
        "/opt/nvml-mock/x",
        "/opt/nvml-mock//x/",
        "/opt/nvml-mock/driver/config/config.yaml",
        "/opt/nvml-mock/driver/config/../x",
        "/opt/nvml-mock/dangling",
    ] {
        let decision = decided(&tree, volume(destination, &["rshared"]));
        let reason = Reason::VolumeBelowOverlay;
        assert_eq!(decision.outcome, Outcome::Unmodified(reason));
        let path = destination.to_owned();
        assert_eq!(decision.warnings, [Warning::VolumeBelowOverlay { path }]);
    }
}

#[test]
fn a_volume_that_has_a_place_in_the_overlay_is_seen() {
    let tree = Tree::staged()
        .file("/var/lib/nvml-mock/driver/config/config.yaml")
        .link("/var/lib/nvml-mock/link", NodeKind::Directory);
    for destination in [
        "/opt/nvml-mock/driver/config/config.yaml",
        "/opt/nvml-mock/driver/dev",
        "/opt/nvml-mock/link",
    ] {
        let decision = decided(&tree, volume(destination, &[]));
        assert_eq!(decision.warnings, []);
        assert_eq!(destinations(decision), ["/opt/nvml-mock", CONFIG]);
    }
}

#[test]
fn one_volume_without_a_place_among_others_is_enough() {
    let volumes = ["/data", "/opt/nvml-mock/driver", "/opt/nvml-mock/x"];
    let container = with(volumes.map(|destination| volume(destination, &[])));
    let decision = decide(&[], &Tree::staged(), &pod(&[DEVICES]), &container);
    let reason = Reason::VolumeBelowOverlay;
    assert_eq!(decision.outcome, Outcome::Unmodified(reason));
}

#[test]
fn the_pods_own_configuration_is_left_in_place() {
    for destination in [
        CONFIG,
        "/opt/nvml-mock/driver",
        "/opt/nvml-mock/driver/config/",
    ] {
        let decision = decided(&Tree::staged(), volume(destination, &[]));
        assert_eq!(decision.warnings, []);
        assert_eq!(destinations(decision), ["/opt/nvml-mock"]);
    }
}

#[test]
fn a_configuration_that_is_not_mounted_need_not_be_staged() {
    let tree = Tree::default().directory("/var/lib/nvml-mock/driver/dev");
    let decision = decided(&tree, volume("/opt/nvml-mock/driver", &[]));
    assert!(matches!(
        decision.warnings[..],
        [Warning::NoGpuDevices { .. }]
    ));
    assert_eq!(destinations(decision), ["/opt/nvml-mock"]);

    let required = ["--feature-gates=RequireStagedOverlay=true"];
    let container = with([volume("/opt/nvml-mock/driver", &[])]);
    let decision = decide(&required, &tree, &pod(&[DEVICES]), &container);
    let reason = Reason::OverlayNotStaged;
    assert_eq!(decision.outcome, Outcome::Unmodified(reason));
}

#[test]
fn device_nodes_in_a_dev_of_the_containers_own_are_warned_of() {
    for surface in [DEVICES, IMEX] {
        let container = with([volume("/dev/", &[])]);
        let decision = decide(&[], &Tree::staged(), &pod(&[surface]), &container);
        assert_eq!(decision.warnings, [Warning::OwnDev]);
        assert_eq!(adjustment(decision).devices.len(), 1);
    }
    let tmpfs = Mount {
        kind: "tmpfs".to_owned(),
        ..volume("/dev", &[])
    };
    for other in [tmpfs, volume("/dev/shm", &[])] {
        assert_eq!(decided(&Tree::staged(), other).warnings, []);
    }
}

#[test]
fn what_a_copy_with_another_mount_path_left_is_recognised() {
    let overlay = |destination: &str| Mount {
        source: "/var/lib/./nvml-mock/".to_owned(),
        ..volume(destination, &[])
    };
    for (destination, item, surface) in [
        ("/opt/other", "MOCK_PCI_ROOT=/opt/other", DEVICES),
        ("/opt/other/", "MOCK_IB_ROOT=/opt/other/ib", INFINIBAND),
        ("/opt/other", "MOCK_PCI_ROOT=/opt/other", IMEX),
        ("/", "MOCK_IB_ROOT=/ib", DEVICES),
        ("/", "MOCK_PCI_ROOT=/", DEVICES),
    ] {
        let container = Container {
            env: vec!["MOCK_PCI_ROOT=/own".to_owned(), item.to_owned()],
            ..with([overlay(destination)])
        };
        let decision = decide(&[], &Tree::staged(), &pod(&[surface]), &container);
        assert_eq!(decision.warnings, []);
        let reason = Reason::OverlayAlreadyMounted;
        assert_eq!(decision.outcome, Outcome::Unmodified(reason), "{item}");
    }
    for (destination, item) in [
        ("/opt/other", "MOCK_PCI_ROOT=/opt/other/"),
        ("/opt/other", "MOCK_PCI_ROOT=/opt/other/ib"),
        ("/opt/other", "MOCK_IB_ROOT=/opt/other"),
        ("/opt/other", "MOCK_IB_ROOT=/opt/otherib"),
        ("/opt/other", "MOCK_PCI_ROOT"),
        ("/opt/third", "MOCK_PCI_ROOT=/opt/other"),
    ] {
        let container = Container {
            env: vec![item.to_owned()],
            ..with([overlay(destination)])
        };
        let decision = decide(&[], &Tree::staged(), &pod(&[DEVICES]), &container);
        assert_eq!(adjustment(decision).mounts.len(), 2, "{item}");
    }
}

/// What one copy adds is recognised by a copy with another mount path, whatever was selected.
#[test]
fn two_copies_with_different_mount_paths_never_claim_the_same() {
    let other = ["--overlay-mount-path=/run/mock"];
    for annotations in [&[DEVICES][..], &[INFINIBAND], &[DEVICES, INFINIBAND]] {
        let (pod, tree) = (pod(annotations), Tree::staged());
        let first = adjustment(decide(&[], &tree, &pod, &container(&[])));
        let seen = applied(container(&[]), &first);
        let second = decide(&other, &tree, &pod, &seen);
        let reason = Reason::OverlayAlreadyMounted;
        assert_eq!(second.outcome, Outcome::Unmodified(reason));
    }
}
