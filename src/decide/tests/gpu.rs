//! GPU devices for the management opt-in.

use super::*;

const DEV: &str = "/var/lib/nvml-mock/driver/dev";
const SPEC: &str = "/var/run/cdi/nvml-mock-nri.yaml";
/// A CDI specification of one node.
fn specified(tree: Tree, node: &str) -> Tree {
    let text = format!(
        "kind: nvml-mock.nvidia.com/gpu\ndevices: [{{name: all, containerEdits: {{deviceNodes: [{node}]}}}}]",
    );
    tree.text(SPEC, &text)
}

/// The one that the node agent writes.
fn staged_with_spec() -> Tree {
    specified(
        Tree::staged(),
        &format!("{{path: /dev/nvidia0, hostPath: {DEV}/nvidia0}}"),
    )
}

const CDI: [&str; 1] = ["--device-injection-mode=cdi"];

fn management(args: &[&str], tree: &Tree) -> Decision {
    decide(args, tree, &pod(&[DEVICES]), &container(&[]))
}

/// An overlay without anything in its device directory.
fn overlay() -> Tree {
    Tree::default()
        .directory("/var/lib/nvml-mock/driver/config")
        .directory(DEV)
}

#[test]
fn every_node_whose_name_starts_with_nvidia_is_handed_out_in_byte_order() {
    let tree = [
        "nvidia10",
        "nvidia2",
        "nvidiactl",
        "nvidia-uvm",
        "nvidia0",
        "null",
        "Nvidia3",
    ]
    .into_iter()
    .fold(overlay(), |tree, name| {
        tree.char_device(&format!("{DEV}/{name}"), 195, 0)
    })
    .char_device(&format!("{DEV}/nvidia-caps/nvidia-cap1"), 236, 1);
    let decision = management(&[], &tree);
    assert_eq!(decision.warnings, []);
    assert_eq!(
        paths(&adjustment(decision)),
        [
            "/dev/nvidia-uvm",
            "/dev/nvidia0",
            "/dev/nvidia10",
            "/dev/nvidia2",
            "/dev/nvidiactl"
        ]
    );
}

#[test]
fn a_node_keeps_its_numbers_mode_and_owners() {
    let tree = overlay().char_device(&format!("{DEV}/nvidia0"), u32::MAX, 0x000f_ffff);
    assert_eq!(
        adjustment(management(&[], &tree)).devices,
        [DeviceNode {
            path: "/dev/nvidia0".to_owned(),
            major: u32::MAX,
            minor: 0x000f_ffff,
            file_mode: 0o666,
            uid: 1,
            gid: 2,
        }]
    );
}

#[test]
fn the_device_directory_follows_the_overlay_unless_it_is_given() {
    let tree = Tree::default()
        .char_device("/ov/driver/dev/nvidia7", 195, 7)
        .char_device("/dev2/nvidia8", 195, 8);
    let args = ["--overlay-host-path=/ov", "--device-host-path=/dev2"];
    assert_eq!(
        paths(&adjustment(management(&args[..1], &tree))),
        ["/dev/nvidia7"]
    );
    assert_eq!(
        paths(&adjustment(management(&args, &tree))),
        ["/dev/nvidia8"]
    );
}

#[test]
fn a_directory_that_offers_no_gpu_is_warned_of_and_the_rest_goes_on() {
    let bare = Tree::default().directory("/var/lib/nvml-mock/driver/config");
    for (tree, cause) in [
        (bare.clone(), "entity not found"),
        (bare.clone().file(DEV), "not a directory"),
        (overlay(), "nothing there is named nvidia*"),
        (
            overlay().directory(&format!("{DEV}/nvidia0")),
            "nothing there is named nvidia*",
        ),
    ] {
        let decision = management(&[], &tree);
        let (path, cause) = (DEV.to_owned(), cause.to_owned());
        assert_eq!(decision.warnings, [Warning::NoGpuDevices { path, cause }]);
        let adjustment = adjustment(decision);
        assert_eq!((adjustment.mounts.len(), adjustment.devices.len()), (2, 0));
    }
}

#[test]
fn what_is_no_character_device_is_skipped_and_the_others_stay() {
    let character = NodeKind::CharDevice {
        major: 195,
        minor: 9,
    };
    let tree = overlay()
        .char_device(&format!("{DEV}/nvidia0"), 195, 0)
        .file(&format!("{DEV}/nvidia1"))
        .other(&format!("{DEV}/nvidia2"))
        .link(&format!("{DEV}/nvidia3"), NodeKind::Directory)
        .dangling(&format!("{DEV}/nvidia4"))
        .link(&format!("{DEV}/nvidia5"), character);
    let decision = management(&[], &tree);
    let names = |names: &[&str]| names.iter().map(|name| format!("/dev/{name}")).collect();
    assert_eq!(
        decision.warnings,
        [
            Warning::DevicesSkipped {
                reason: SkipReason::Unresolved,
                devices: names(&["nvidia4"]),
            },
            Warning::DevicesSkipped {
                reason: SkipReason::NotCharDevice,
                devices: names(&["nvidia1", "nvidia2", "nvidia3"]),
            },
        ]
    );
    assert_eq!(
        paths(&adjustment(decision)),
        ["/dev/nvidia0", "/dev/nvidia5"]
    );
}

#[test]
fn an_allocation_is_never_widened() {
    let tree = staged_with_spec();
    for args in [&[][..], &CDI] {
        let decision = decide(args, &tree, &pod(&[DEVICES]), &allocated());
        assert_eq!(decision.warnings, []);
        let adjustment = adjustment(decision);
        assert_eq!(
            (adjustment.devices, adjustment.cdi_devices),
            (vec![], vec![])
        );
        assert_eq!(adjustment.mounts.len(), 2);
    }
}

#[test]
fn in_cdi_mode_a_staged_specification_brings_one_name_and_no_node() {
    let adjustment = adjustment(management(&CDI, &staged_with_spec()));
    assert_eq!(adjustment.cdi_devices, ["nvml-mock.nvidia.com/gpu=all"]);
    assert_eq!(adjustment.devices, []);
}

#[test]
fn in_cdi_mode_without_a_specification_nodes_are_handed_out_and_warned_of() {
    let decision = management(&CDI, &Tree::staged());
    let (path, cause) = (SPEC.to_owned(), "entity not found".to_owned());
    assert_eq!(decision.warnings, [Warning::NoCdiSpec { path, cause }]);
    let adjustment = adjustment(decision);
    assert_eq!(paths(&adjustment), ["/dev/nvidia0"]);
    assert_eq!(adjustment.cdi_devices, [] as [&str; 0]);
}

#[test]
fn a_runtime_that_drops_cdi_devices_gets_nodes_without_a_word_for_each_container() {
    let (config, pod, tree) = (config(&CDI), pod(&[DEVICES]), staged_with_spec());
    let selection = select(&config, Some(&pod), None);
    let decision = adjust(
        &config,
        &selection,
        None,
        &tree,
        Runtime {
            delivers_cdi: false,
            ..Runtime::UNKNOWN
        },
    );
    assert_eq!(decision.warnings, []);
    assert_eq!(paths(&adjustment(decision)), ["/dev/nvidia0"]);
}

#[test]
fn in_cdi_mode_a_node_of_a_real_nvidia_driver_turns_the_name_into_nodes() {
    let tree = staged_with_spec()
        .char_device(&format!("{DEV}/nvidia-uvm"), 510, 0)
        .nvidia_driver(195);
    let decision = management(&CDI, &tree);
    let held_back = Warning::CdiNodesHeldBack {
        path: SPEC.to_owned(),
        devices: vec![format!("{DEV}/nvidia0")],
    };
    let skipped = Warning::DevicesSkipped {
        reason: SkipReason::RealDriver,
        devices: vec!["/dev/nvidia0".to_owned()],
    };
    assert_eq!(decision.warnings, [held_back, skipped]);
    let guarded = adjustment(decision);
    assert_eq!(guarded.cdi_devices, [] as [&str; 0]);
    assert_eq!(paths(&guarded), ["/dev/nvidia-uvm"]);

    let unguarded = [CDI[0], "--feature-gates=RealDriverGuard=false"];
    let decision = management(&unguarded, &tree);
    assert_eq!(decision.warnings, []);
    let unguarded = adjustment(decision);
    assert_eq!(unguarded.cdi_devices, ["nvml-mock.nvidia.com/gpu=all"]);
}

#[test]
fn beside_a_real_nvidia_driver_a_cdi_node_that_cannot_be_looked_at_is_not_handed_out() {
    let elsewhere = "/gone/nvidia0";
    for (node, given) in [
        // Whether there is a node is looked at below the overlay alone; without a driver nothing else matters.
        (format!("{{path: {elsewhere}}}"), false),
        ("{}".to_owned(), false),
        ("{path: nvidia0}".to_owned(), false),
        (
            format!("{{path: /dev/x, hostPath: {elsewhere}, type: c, major: 195}}"),
            false,
        ),
        (
            format!("{{path: /dev/x, hostPath: {elsewhere}, type: c, major: 510}}"),
            true,
        ),
        ("{path: /dev2/mock}".to_owned(), true),
        ("{path: /dev2/real}".to_owned(), false),
        ("{path: /dev2/mock, major: 195}".to_owned(), false),
        ("{path: /dev2/file}".to_owned(), true),
    ] {
        // No device directory: what it holds says nothing of what the name brings.
        let bare = Tree::default()
            .directory("/var/lib/nvml-mock/driver/config")
            .char_device("/dev2/mock", 510, 0)
            .char_device("/dev2/real", 195, 0)
            .file("/dev2/file");
        let tree = specified(bare, &node);
        let names = |tree: &Tree| adjustment(management(&CDI, tree)).cdi_devices.len();
        assert_eq!(names(&tree), 1, "{node}");
        assert_eq!(
            names(&tree.nvidia_driver(195)),
            usize::from(given),
            "{node}"
        );
    }
}

#[test]
fn a_cdi_specification_that_does_not_resolve_is_none() {
    let all = "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}]";
    for (text, cause) in [
        ("", "it cannot be read: "),
        ("kind: [", "it cannot be read: "),
        ("a: b", "it cannot be read: "),
        (
            "kind: ex.com/gpu\ndevices: [{name: all}]",
            r#"its kind is "ex.com/gpu""#,
        ),
        (
            "kind: nvml-mock.nvidia.com/gpu",
            r#"none of its devices is named "all""#,
        ),
        (
            "kind: nvml-mock.nvidia.com/gpu\ndevices:",
            r#"none of its devices is named "all""#,
        ),
        (
            "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: All}]",
            r#"none of its devices is named "all""#,
        ),
        (
            "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}, {name: b}, {name: all}]",
            r#"more than one of its devices is named "all""#,
        ),
    ] {
        let decision = management(&CDI, &Tree::staged().text(SPEC, text));
        let [Warning::NoCdiSpec { path, cause: found }] = &decision.warnings[..] else {
            panic!("{text:?} {decision:?}")
        };
        assert!(path == SPEC && found.starts_with(cause), "{found}");
        assert!(!found.contains('\n'), "{found}");
        assert_eq!(paths(&adjustment(decision)), ["/dev/nvidia0"]);
    }
    let decision = management(&CDI, &Tree::staged().text(SPEC, all));
    assert_eq!(
        adjustment(decision).cdi_devices,
        ["nvml-mock.nvidia.com/gpu=all"]
    );
}

#[test]
fn the_nodes_of_a_cdi_device_below_the_overlay_have_to_exist() {
    let tree = || Tree::staged().dangling(&format!("{DEV}/dangling"));
    for (node, missing) in [
        ("{path: /dev/nvidia0}", None),
        ("{path: /dev/x, hostPath: /elsewhere}", None),
        (
            "{path: /dev/x, hostPath: /var/lib/nvml-mock/driver/dev/nvidia0}",
            None,
        ),
        (
            "{path: /var/lib/nvml-mock/driver//dev/../dev/nvidia0, hostPath: ''}",
            None,
        ),
        (
            "{path: /var/lib/nvml-mock/gone, hostPath: /elsewhere}",
            None,
        ),
        (
            "{path: /dev/x, hostPath: /var/lib/nvml-mock/gone}",
            Some("/var/lib/nvml-mock/gone"),
        ),
        (
            "{path: /var/lib/nvml-mock/gone}",
            Some("/var/lib/nvml-mock/gone"),
        ),
        (
            "{path: /x, hostPath: /var/lib/nvml-mock/driver/dev/dangling}",
            Some("/var/lib/nvml-mock/driver/dev/dangling"),
        ),
    ] {
        let of_all = format!(
            "kind: nvml-mock.nvidia.com/gpu\ndevices: [{{name: all}}]\ncontainerEdits: {{deviceNodes: [{node}]}}"
        );
        for tree in [specified(tree(), node), tree().text(SPEC, &of_all)] {
            let decision = management(&CDI, &tree);
            let warnings = missing.map(|path| Warning::NoCdiSpec {
                path: SPEC.to_owned(),
                cause: format!("its node {path} is not there"),
            });
            let warnings: Vec<_> = warnings.into_iter().collect();
            assert!(
                decision.warnings.starts_with(&warnings),
                "{node} {decision:?}"
            );
            let given = adjustment(decision).cdi_devices.len();
            assert_eq!(given, usize::from(missing.is_none()), "{node}");
        }
    }
}

#[test]
fn the_nodes_of_another_device_of_the_specification_do_not_matter() {
    let text = "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}, {name: '0', containerEdits: {deviceNodes: [{path: /var/lib/nvml-mock/gone}]}}]";
    let decision = management(&CDI, &Tree::staged().text(SPEC, text));
    assert_eq!(decision.warnings, []);
    assert_eq!(adjustment(decision).cdi_devices.len(), 1);
}

#[test]
fn a_cdi_specification_may_be_json() {
    let text = "{\n\t\"cdiVersion\": \"0.6.0\",\n\t\"kind\": \"nvml-mock.nvidia.com/gpu\",\n\t\"devices\": [{\"name\": \"all\", \"containerEdits\": null}]\n}";
    let decision = management(&CDI, &Tree::staged().text(SPEC, text));
    assert_eq!(decision.warnings, []);
}

#[test]
fn a_node_of_a_real_nvidia_driver_is_held_back() {
    let channel = "/dev/nvidia-caps-imex-channels/channel0";
    let tree = Tree::staged()
        .char_device(&format!("{DEV}/nvidia-uvm"), 510, 0)
        .nvidia_driver(195)
        .nvidia_driver(234);
    let decision = decide(&[], &tree, &pod(&[DEVICES, IMEX]), &container(&[]));
    assert_eq!(
        decision.warnings,
        [Warning::DevicesSkipped {
            reason: SkipReason::RealDriver,
            devices: vec!["/dev/nvidia0".to_owned(), channel.to_owned()],
        }]
    );
    assert_eq!(paths(&adjustment(decision)), ["/dev/nvidia-uvm"]);

    let unguarded = ["--feature-gates=RealDriverGuard=false"];
    let decision = decide(&unguarded, &tree, &pod(&[DEVICES, IMEX]), &container(&[]));
    assert_eq!(decision.warnings, []);
    assert_eq!(
        paths(&adjustment(decision)),
        ["/dev/nvidia-uvm", "/dev/nvidia0", channel]
    );
}
