//! What people reported about plugins like this one, as far as it is a matter of the answer: each test is named
//! after the report, and says what must not happen again. `tests/reports.md` lists all reports and their tests.

use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::profile;
use nri_model::tree::{Device, Node, Tree};
use nri_model::{CommandLine, Runtime, World};
use nri_plugin::decide::{Outcome, Reason, SkipReason, Warning};
use nri_proto::api::{
    Container, ContainerAdjustment, CreateContainerRequest, LinuxDevice, PodSandbox,
};

use crate::plugin::{self, Answered};
use crate::spec;

fn annotated(surface: &str) -> PodSandbox {
    let annotation = (format!("nvml-mock.nvidia.com/{surface}"), "true".to_owned());
    PodSandbox {
        annotations: [annotation].into(),
        ..Default::default()
    }
}

fn staged(major: u32, minor: u32) -> World {
    let mut tree = Tree::default();
    let device = Device {
        major,
        minor,
        mode: 0o666,
        uid: 0,
        gid: 0,
    };
    tree.add("/var/lib/nvml-mock/driver/config", Node::Directory);
    tree.add(
        "/var/lib/nvml-mock/driver/dev/nvidia0",
        Node::Character(device),
    );
    World {
        tree,
        ..Default::default()
    }
}

fn ask(arguments: &[&str], world: &World, pod: &PodSandbox, container: &Container) -> Answered {
    let arguments = arguments
        .iter()
        .map(|argument| (*argument).to_owned())
        .collect();
    let config = plugin::start(&CommandLine {
        arguments,
        ..Default::default()
    })
    .unwrap();
    plugin::answer(&config, world, &plugin::request(Some(pod), Some(container)))
}

fn devices(answered: &Answered) -> Vec<LinuxDevice> {
    let adjustment = answered.adjustment.clone().unwrap_or_default();
    adjustment.linux.unwrap_or_default().devices
}

#[test]
fn containerd_13432_a_key_that_stands_twice_is_warned_of_by_its_name() {
    let env = vec!["PATH=/image".to_owned(), "PATH=/pod".to_owned()];
    let container = Container {
        env,
        ..Default::default()
    };
    let answered = ask(&[], &staged(195, 0), &annotated("devices"), &container);
    let path = answered.adjustment.unwrap().env.remove(0);
    assert_eq!(
        (path.key.as_str(), path.value.as_str()),
        ("PATH", "/opt/nvml-mock/driver/usr/bin:/pod")
    );
    assert!(answered.warnings.contains(&Warning::RepeatedEnv {
        keys: vec!["PATH".into()]
    }));
}

#[test]
fn containerd_nri_80_nothing_relies_on_a_removal() {
    let env = vec!["PATH=/bin".to_owned(), "MOCK_IB=full".to_owned()];
    let container = Container {
        env,
        ..Default::default()
    };
    let adjustment = ask(&[], &staged(195, 0), &annotated("devices"), &container)
        .adjustment
        .unwrap();
    assert!(
        adjustment
            .mounts
            .iter()
            .all(|mount| !mount.destination.starts_with('-'))
    );
    assert!(adjustment.env.iter().all(|pair| !pair.key.starts_with('-')));
}

#[test]
fn containerd_nri_27_a_later_plugin_sees_what_this_one_added() {
    let (pod, container) = (annotated("devices"), Container::default());
    let adjustment = ask(&[], &staged(195, 0), &pod, &container)
        .adjustment
        .unwrap();
    let before = spec::before(Some(&container));
    let request = CreateContainerRequest {
        pod: Some(pod),
        container: Some(container),
    };
    let answers = [
        (
            "10-nvml-mock".to_owned(),
            Answer::Adjust(Box::new(adjustment.clone())),
        ),
        ("20-later".to_owned(), Answer::Lost("it only looks".into())),
    ];
    for profile in profile::ALL {
        let outcome = create(
            profile,
            request.clone(),
            before.clone(),
            &answers,
            &Host::default(),
        );
        let seen = outcome.requests[1].container.clone().unwrap();
        assert_eq!(seen.mounts, adjustment.mounts, "{}", profile.name);
        assert_eq!(
            seen.linux.unwrap().devices,
            adjustment.linux.clone().unwrap().devices
        );
    }
}

#[test]
fn container_engine_accelerators_348_nothing_is_added_twice() {
    let mut world = staged(195, 0);
    world.tree.add(
        "/var/lib/nvml-mock/driver/usr/bin/nvidia-imex.real",
        Node::File,
    );
    world
        .tree
        .add("/var/lib/nvml-mock/topology/topology.yaml", Node::File);
    let label = (
        "resource.nvidia.com/computeDomain".to_owned(),
        "domain-1".to_owned(),
    );
    let pod = PodSandbox {
        labels: [label].into(),
        ..Default::default()
    };
    let daemon = Container {
        name: "compute-domain-daemon".into(),
        ..Default::default()
    };
    let flags = [
        "--compute-domain-staging",
        "--node-name=n",
        "--topology-mount-path=/usr/bin/nvidia-imex.real",
    ];
    let answered = ask(&flags, &world, &pod, &daemon);
    assert_eq!(answered.adjustment.unwrap().mounts.len(), 1);
    let names = vec!["/usr/bin/nvidia-imex.real".to_owned()];
    assert_eq!(answered.warnings, [Warning::RepeatedInAdjustment { names }]);
}

#[test]
fn containerd_nri_168_no_device_rule_is_relied_on() {
    let adjustment = ask(
        &[],
        &staged(195, 0),
        &annotated("devices"),
        &Container::default(),
    )
    .adjustment;
    assert_eq!(adjustment.unwrap().linux.unwrap().resources, None);
}

#[test]
fn containerd_12650_a_runtime_that_drops_cdi_names_gets_nodes() {
    let mut world = staged(195, 0);
    world
        .tree
        .add("/var/run/cdi/nvml-mock-nri.yaml", plugin::specification());
    for (runtime, nodes) in [
        (Runtime::ContainerdBefore2_1, 1),
        (Runtime::CriOBefore1_34, 1),
        (Runtime::Containerd2_1, 0),
        (Runtime::CriO, 0),
    ] {
        world.runtime = runtime;
        let answered = ask(
            &["--device-injection-mode=cdi"],
            &world,
            &annotated("devices"),
            &Container::default(),
        );
        assert_eq!(devices(&answered).len(), nodes);
        assert_eq!(answered.adjustment.unwrap().cdi_devices.len(), 1 - nodes);
    }
}

#[test]
fn moby_47633_a_cdi_name_without_its_specification_is_never_emitted() {
    let answered = ask(
        &["--device-injection-mode=cdi"],
        &staged(195, 0),
        &annotated("devices"),
        &Container::default(),
    );
    assert_eq!(devices(&answered).len(), 1);
    assert_eq!(answered.adjustment.unwrap().cdi_devices, []);
    assert!(matches!(answered.warnings[..], [Warning::NoCdiSpec { .. }]));
}

#[test]
fn k8s_test_infra_439_device_numbers_are_not_truncated_on_the_wire() {
    let answered = ask(
        &[],
        &staged(4095, 1_048_575),
        &annotated("devices"),
        &Container::default(),
    );
    let device = &devices(&answered)[0];
    assert_eq!((device.major, device.minor), (4095, 1_048_575));
}

#[test]
fn k8s_test_infra_591_an_annotation_never_opens_a_real_gpu() {
    let mut world = staged(195, 0);
    world.nvidia_majors = [195].into();
    world
        .tree
        .add("/var/run/cdi/nvml-mock-nri.yaml", plugin::specification());
    let ask = |flags: &[&str]| ask(flags, &world, &annotated("devices"), &Container::default());
    let skipped = Warning::DevicesSkipped {
        reason: SkipReason::RealDriver,
        devices: vec!["/dev/nvidia0".into()],
    };
    for mode in ["raw", "cdi"] {
        let mode = format!("--device-injection-mode={mode}");
        let answered = ask(&[&mode]);
        assert_eq!(devices(&answered), [], "{mode}");
        assert_eq!(answered.warnings.last(), Some(&skipped), "{mode}");
        assert_eq!(answered.adjustment.unwrap().cdi_devices, [], "{mode}");
    }
    let forced = ask(&["--feature-gates=RealDriverGuard=false"]);
    assert_eq!(devices(&forced).len(), 1);
}

#[test]
fn k8s_test_infra_585_a_pod_that_asks_for_nothing_sees_no_gpu() {
    let answered = ask(
        &[],
        &staged(195, 0),
        &PodSandbox::default(),
        &Container::default(),
    );
    assert_eq!(
        answered.outcome,
        Outcome::Unmodified(Reason::NothingSelected)
    );
    assert_eq!(answered.adjustment, None);
}

/// Which annotations of a pod count, by their keys and values, its namespace, and whether the pod has them or its
/// container. What asks for something here is the devices annotation.
#[test]
fn nvidia_container_toolkit_1498_the_effective_annotations_are_these() {
    type Annotations<'a> = &'a [(&'a str, &'a str)];
    const DEVICES: &str = "nvml-mock.nvidia.com/devices";
    const INJECT: &str = "nvml-mock.nvidia.com/inject";
    let asks = [(DEVICES, "true")];
    let cases: [(&str, Annotations<'_>, Annotations<'_>, bool); 14] = [
        ("default", &asks, &[], true),
        ("default", &[(DEVICES, "True")], &[], true),
        ("default", &[(DEVICES, "1")], &[], false),
        ("default", &[(DEVICES, " true")], &[], false),
        ("default", &[(DEVICES, "")], &[], false),
        // Keys are compared as they stand: no wildcard, no other case, no suffix for one container.
        ("default", &[("nvml-mock.nvidia.com/*", "true")], &[], false),
        (
            "default",
            &[("nvml-mock.nvidia.com/Devices", "true")],
            &[],
            false,
        ),
        (
            "default",
            &[("nvml-mock.nvidia.com/devices.main", "true")],
            &[],
            false,
        ),
        // A container's own neither adds to the pod's nor takes from them.
        ("default", &[], &asks, false),
        ("default", &asks, &[(DEVICES, "false")], true),
        ("default", &asks, &[(INJECT, "false")], true),
        // The opt-out and the namespace go first.
        (
            "default",
            &[(DEVICES, "true"), (INJECT, "false")],
            &[],
            false,
        ),
        ("kube-system", &asks, &[], false),
        (
            "kube-system",
            &[(DEVICES, "true"), (INJECT, "true")],
            &[],
            false,
        ),
    ];
    let annotations = |pairs: Annotations<'_>| {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    };
    for (namespace, pods, containers, injected) in cases {
        let pod = PodSandbox {
            namespace: namespace.into(),
            annotations: annotations(pods),
            ..Default::default()
        };
        let container = Container {
            name: "main".into(),
            annotations: annotations(containers),
            ..Default::default()
        };
        let answered = ask(&[], &staged(195, 0), &pod, &container);
        assert_eq!(
            answered.adjustment.is_some(),
            injected,
            "{namespace}: {pods:?} {containers:?}"
        );
    }
}

#[test]
fn c8s_237_the_containers_annotations_are_not_the_pods() {
    let annotations = annotated("devices").annotations;
    let container = Container {
        annotations,
        ..Default::default()
    };
    let answered = ask(&[], &staged(195, 0), &PodSandbox::default(), &container);
    assert_eq!(answered.adjustment, None);
}

#[test]
fn cri_o_6642_no_message_has_to_be_there() {
    let config = plugin::start(&CommandLine::default()).unwrap();
    let pod = annotated("devices");
    for (pod, container) in [
        (None, None),
        (Some(&pod), None),
        (None, Some(&Container::default())),
    ] {
        let answered = plugin::answer(&config, &staged(195, 0), &plugin::request(pod, container));
        assert_eq!(answered.adjustment.is_some(), pod.is_some());
    }
}

#[test]
fn moby_51674_a_reply_holds_nothing_that_a_runtime_may_not_support() {
    let adjustment = ask(
        &[],
        &staged(195, 0),
        &annotated("devices"),
        &Container::default(),
    )
    .adjustment
    .unwrap();
    let linux = adjustment.linux.clone().unwrap();
    let supported = ContainerAdjustment {
        mounts: adjustment.mounts.clone(),
        env: adjustment.env.clone(),
        linux: Some(nri_proto::api::LinuxContainerAdjustment {
            devices: linux.devices,
            ..Default::default()
        }),
        ..Default::default()
    };
    assert_eq!(adjustment, supported);
}
