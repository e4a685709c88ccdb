//! What was given once is not given again.

use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::profile;
use nri_model::tree::{Device, Node, Tree};
use nri_model::{CommandLine, World};
use nri_plugin::decide::Outcome;
use nri_proto::api::{Container, CreateContainerRequest, LinuxContainer, LinuxDevice, PodSandbox};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases;
use crate::arbitrary::{container, pod, valid_command_line, world};
use crate::{plugin, spec};

proptest! {
    #![proptest_config(cases(800))]

    /// Two copies of the plugin can be alive at once: the second is asked about what the first made.
    #[test]
    fn a_second_pass_changes_nothing(
        command_line in valid_command_line(),
        world in world(),
        pod in pod(),
        container in container(),
        profile in select(profile::ALL.iter().collect::<Vec<_>>()),
    ) {
        let config = plugin::start(&command_line).unwrap();
        let request = plugin::request(pod.as_ref(), container.as_ref());
        let Some(adjustment) = plugin::answer(&config, &world, &request).adjustment else {
            return Ok(());
        };
        let answers = [
            ("10-first".to_owned(), Answer::Adjust(Box::new(adjustment))),
            ("10-second".to_owned(), Answer::Lost("it only looks".into())),
        ];
        let before = spec::before(container.as_ref());
        let request = CreateContainerRequest { pod: pod.clone(), container };
        let seen = create(profile, request, before, &answers, &Host::default()).requests;
        let second = plugin::request(pod.as_ref(), seen[1].container.as_ref());

        let again = plugin::answer(&config, &world, &second);

        prop_assert!(matches!(again.outcome, Outcome::Unmodified(_)), "{:?}", again.outcome);
    }
}

#[test]
fn a_channel_is_the_containers_own_only_with_the_same_path_type_and_numbers() {
    let mut tree = Tree::default();
    let device = Device {
        major: 234,
        minor: 0,
        mode: 0o666,
        uid: 0,
        gid: 0,
    };
    let channels = "/var/lib/nvml-mock/driver/dev/nvidia-caps-imex-channels";
    tree.add(&format!("{channels}/channel0"), Node::Character(device));
    let world = World {
        tree,
        ..Default::default()
    };
    let asks = (
        "nvml-mock.nvidia.com/imex-channels".to_owned(),
        "true".to_owned(),
    );
    let pod = PodSandbox {
        annotations: [asks].into(),
        ..Default::default()
    };
    let config = plugin::start(&CommandLine::default()).unwrap();
    let path = "/dev/nvidia-caps-imex-channels/channel0";
    for (path, kind, major, minor, own) in [
        (path, "c", 234, 0, true),
        (path, "b", 234, 0, false),
        (path, "c", 235, 0, false),
        (path, "c", 234, 1, false),
        ("/dev/channel0", "c", 234, 0, false),
    ] {
        let device = LinuxDevice {
            path: path.into(),
            r#type: kind.into(),
            major,
            minor,
            ..Default::default()
        };
        let linux = LinuxContainer {
            devices: vec![device],
            ..Default::default()
        };
        let container = Container {
            linux: Some(linux),
            ..Default::default()
        };
        let request = plugin::request(Some(&pod), Some(&container));
        let adjusted = plugin::answer(&config, &world, &request)
            .adjustment
            .is_some();
        assert_eq!(adjusted, !own, "{path} {kind} {major}:{minor}");
    }
}
