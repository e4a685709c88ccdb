//! IMEX channels.

use super::*;

const CHANNELS: &str = "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels";

fn imex(tree: &Tree, container: &Container) -> Decision {
    decide(&[], tree, &pod(&[IMEX]), container)
}

#[test]
fn channels_alone_bring_no_mount_and_no_environment() {
    let adjustment = adjustment(imex(&Tree::staged(), &container(&["PATH=/bin"])));
    assert_eq!((adjustment.mounts, adjustment.env), (vec![], vec![]));
    assert_eq!(adjustment.devices.len(), 1);
}

#[test]
fn every_channel_is_handed_out_behind_the_gpus_in_byte_order() {
    let tree = Tree::staged()
        .char_device(&format!("{CHANNELS}/channel10"), 234, 10)
        .char_device(&format!("{CHANNELS}/channel2"), 234, 2)
        .char_device(&format!("{CHANNELS}/other"), 234, 3)
        .directory(&format!("{CHANNELS}/channels"));
    let both = adjustment(decide(&[], &tree, &pod(&[IMEX, DEVICES]), &container(&[])));
    assert_eq!(
        paths(&both),
        [
            "/dev/nvidia0",
            "/dev/nvidia-caps-imex-channels/channel0",
            "/dev/nvidia-caps-imex-channels/channel10",
            "/dev/nvidia-caps-imex-channels/channel2",
        ]
    );
}

#[test]
fn channels_are_nodes_also_in_cdi_mode() {
    let specification = "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}]";
    let tree = Tree::staged().text("/var/run/cdi/nvml-mock-nri.yaml", specification);
    let args = ["--device-injection-mode=cdi"];
    let both = adjustment(decide(
        &args,
        &tree,
        &pod(&[IMEX, DEVICES]),
        &container(&[]),
    ));
    assert_eq!(paths(&both), ["/dev/nvidia-caps-imex-channels/channel0"]);
    assert_eq!(both.cdi_devices.len(), 1);
}

#[test]
fn missing_channels_are_warned_of_and_the_container_is_left_as_it_is() {
    for (tree, cause) in [
        (Tree::default(), "entity not found"),
        (
            Tree::default().directory(CHANNELS),
            "nothing there is named channel*",
        ),
    ] {
        let decision = imex(&tree, &container(&[]));
        assert_eq!(decision.outcome, Outcome::Unmodified(Reason::NothingToAdd));
        let (path, cause) = (CHANNELS.to_owned(), cause.to_owned());
        assert_eq!(decision.warnings, [Warning::NoImexChannels { path, cause }]);
    }
}

#[test]
fn channels_that_are_no_devices_leave_nothing_to_add() {
    let tree = Tree::default().file(&format!("{CHANNELS}/channel0"));
    let decision = imex(&tree, &container(&[]));
    assert_eq!(decision.outcome, Outcome::Unmodified(Reason::NothingToAdd));
    assert_eq!(decision.warnings.len(), 1);
}

#[test]
fn a_channel_that_the_container_has_is_not_added_again() {
    let tree = Tree::staged().char_device(&format!("{CHANNELS}/channel1"), 234, 1);
    let first = Container {
        devices: vec![device("/dev/nvidia-caps-imex-channels/channel0", 234, 0)],
        ..container(&[])
    };
    let rest = adjustment(imex(&tree, &first));
    assert_eq!(paths(&rest), ["/dev/nvidia-caps-imex-channels/channel1"]);

    let second = applied(first, &rest);
    let decision = imex(&tree, &second);
    assert_eq!(
        decision.outcome,
        Outcome::Unmodified(Reason::AlreadyAdjusted)
    );
    assert_eq!(decision.warnings, []);
}

#[test]
fn a_namesake_of_a_channel_does_not_stand_for_it() {
    let path = "/dev/nvidia-caps-imex-channels/channel0";
    let block = Device {
        kind: "b".to_owned(),
        ..device(path, 234, 0)
    };
    for other in [
        block,
        device(path, 235, 0),
        device(path, 234, 1),
        device("/dev/channel0", 234, 0),
    ] {
        let has_other = Container {
            devices: vec![other],
            ..container(&[])
        };
        assert_eq!(
            paths(&adjustment(imex(&Tree::staged(), &has_other))),
            [path]
        );
    }
}
