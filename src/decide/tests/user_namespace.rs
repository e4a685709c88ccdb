//! Containers in a user namespace.

use super::*;

const DEV: &str = "/var/lib/nvml-mock/driver/dev";
const CHANNEL: &str = "/dev/nvidia-caps-imex-channels/channel0";

fn in_user_namespace(mounts: impl IntoIterator<Item = Mount>) -> Container {
    Container {
        user_namespace: true,
        mounts: mounts.into_iter().collect(),
        ..container(&[])
    }
}

fn bind_at(destination: &str) -> Mount {
    Mount {
        kind: "bind".to_owned(),
        ..mount(destination)
    }
}

#[test]
fn each_node_is_a_mount_of_its_staged_file_behind_those_of_the_overlay() {
    let tree = Tree::staged().char_device(&format!("{DEV}/nvidiactl"), 195, 255);
    let pod = pod(&[DEVICES, IMEX]);
    let decision = decide(&[], &tree, &pod, &in_user_namespace([]));
    assert_eq!(decision.warnings, [Warning::ConfigNotWritable]);
    let adjustment = adjustment(decision);
    let file = |source: String, destination: &str| BindMount {
        source,
        destination: destination.to_owned(),
        options: &["bind", "rprivate", "rw", "nosuid", "noexec"],
    };
    let expected = [
        file(format!("{DEV}/nvidia0"), "/dev/nvidia0"),
        file(format!("{DEV}/nvidiactl"), "/dev/nvidiactl"),
        file(format!("{DEV}/nvidia-caps-imex-channels/channel0"), CHANNEL),
    ];
    assert_eq!(adjustment.mounts[2..], expected);
    assert_eq!(adjustment.devices, []);
    assert_eq!(adjustment.device_grants, []);
}

#[test]
fn a_runtime_that_applies_device_rules_is_told_to_let_the_nodes_be_opened() {
    let runtime = Runtime::identify("containerd", "2.2.0");
    let (config, pod, tree) = (config(&[]), pod(&[DEVICES]), Tree::staged());
    let tree = tree.file(&format!("{DEV}/nvidia1"));
    let of = |container: Container| {
        let selection = select(&config, Some(&pod), Some(&container));
        let decision = adjust(&config, &selection, Some(&container), &tree, runtime);
        adjustment(decision).device_grants
    };
    let grant = DeviceGrant {
        major: 195,
        minor: 0,
    };
    assert_eq!(of(in_user_namespace([])), [grant]);
    // Of a node that is not mounted, nothing is granted; and a node that is made has a rule of its own.
    assert_eq!(of(in_user_namespace([mount("/dev/nvidia0")])), []);
    assert_eq!(of(container(&[])), []);
}

#[test]
fn a_node_is_left_out_where_the_container_mounts_something_or_below_its_own_bind() {
    for (own, left) in [
        (mount("/dev/nvidia0"), vec![CHANNEL]),
        (mount("/dev/./nvidia0/"), vec![CHANNEL]),
        (
            bind_at("/dev/nvidia-caps-imex-channels"),
            vec!["/dev/nvidia0"],
        ),
        (
            mount("/dev/nvidia-caps-imex-channels"),
            vec!["/dev/nvidia0", CHANNEL],
        ),
        (mount("/dev"), vec!["/dev/nvidia0", CHANNEL]),
        (bind_at("/dev/nvidia"), vec!["/dev/nvidia0", CHANNEL]),
        (bind_at("/dev"), vec![]),
        (bind_at("/"), vec![]),
        (bind_at("dev"), vec!["/dev/nvidia0", CHANNEL]),
    ] {
        let pod = pod(&[DEVICES, IMEX]);
        let container = in_user_namespace([own.clone()]);
        let decision = decide(&[], &Tree::staged(), &pod, &container);
        let adjustment = adjustment(decision);
        let mounts = adjustment.mounts[2..].iter();
        let destinations: Vec<_> = mounts.map(|it| it.destination.as_str()).collect();
        assert_eq!(destinations, left, "{own:?}");
    }
}

#[test]
fn what_is_skipped_is_skipped_alike() {
    let tree = Tree::staged()
        .file(&format!("{DEV}/nvidia1"))
        .char_device(&format!("{DEV}/nvidia2"), 510, 0)
        .nvidia_driver(510);
    let pod = pod(&[DEVICES]);
    let outside = decide(&[], &tree, &pod, &container(&[]));
    let inside = decide(&[], &tree, &pod, &in_user_namespace([]));
    assert_eq!(inside.warnings[1..], outside.warnings);
    assert_eq!(adjustment(inside).mounts.len(), 3);
}

#[test]
fn in_cdi_mode_no_name_is_given() {
    let text = "kind: nvml-mock.nvidia.com/gpu\ndevices: [{name: all}]";
    let tree = Tree::staged().text("/var/run/cdi/nvml-mock-nri.yaml", text);
    let cdi = ["--device-injection-mode=cdi"];
    let decision = decide(&cdi, &tree, &pod(&[DEVICES]), &in_user_namespace([]));
    assert_eq!(decision.warnings, [Warning::ConfigNotWritable]);
    let adjustment = adjustment(decision);
    assert_eq!(adjustment.cdi_devices, [] as [&str; 0]);
    assert_eq!(adjustment.mounts.len(), 3);
}

#[test]
fn a_second_copy_adds_no_channel_again() {
    let (pod, tree) = (pod(&[IMEX]), Tree::staged());
    let own = in_user_namespace([]);
    let first = decide(&[], &tree, &pod, &own);
    assert_eq!(first.warnings, []);
    let seen = applied(own, &adjustment(first));
    let second = decide(&[], &tree, &pod, &seen);
    let reason = Reason::AlreadyAdjusted;
    assert_eq!(second.outcome, Outcome::Unmodified(reason));
}
