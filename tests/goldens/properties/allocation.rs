//! An allocation is never widened.

use nri_model::CommandLine;
use nri_proto::api::{CdiDevice, LinuxDevice, LinuxDeviceCgroup, LinuxResources, OptionalInt64};
use proptest::prelude::*;

use super::cases;
use crate::arbitrary::{container, pod, valid_command_line, world};
use crate::plugin;

/// What shows that the scheduler gave the container a GPU.
#[derive(Clone, Copy, Debug)]
enum Evidence {
    DevicePlugin,
    Dra,
    Raw,
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn an_allocation_is_never_widened(
        command_line in valid_command_line(),
        world in world(),
        pod in pod(),
        container in container(),
        evidence in prop_oneof![Just(Evidence::DevicePlugin), Just(Evidence::Dra), Just(Evidence::Raw)],
        number in any::<u32>(),
    ) {
        let mut container = container.unwrap_or_default();
        let name = match evidence {
            Evidence::DevicePlugin => Some(format!("k8s.device-plugin.nvidia.com/gpu={number}")),
            Evidence::Dra => Some(format!("k8s.gpu.nvidia.com/claim={number}")),
            Evidence::Raw => None,
        };
        match name {
            Some(name) => container.cdi_devices.push(CdiDevice { name }),
            None => {
                let linux = container.linux.get_or_insert_default();
                linux.devices.push(LinuxDevice {
                    path: format!("/dev/nvidia{number}"),
                    r#type: "c".into(),
                    major: 195,
                    minor: number.into(),
                    ..Default::default()
                });
                let resources = linux.resources.get_or_insert_with(LinuxResources::default);
                resources.devices.push(LinuxDeviceCgroup {
                    allow: true,
                    r#type: "c".into(),
                    major: Some(OptionalInt64 { value: 195 }),
                    minor: Some(OptionalInt64 { value: number.into() }),
                    access: "rwm".into(),
                });
            }
        }
        let config = plugin::start(&command_line).unwrap();
        let request = plugin::request(pod.as_ref(), Some(&container));
        let adjustment = plugin::answer(&config, &world, &request).adjustment.unwrap_or_default();

        prop_assert_eq!(adjustment.cdi_devices, vec![]);
        for device in adjustment.linux.unwrap_or_default().devices {
            prop_assert!(device.path.starts_with("/dev/nvidia-caps-imex-channels/"), "{}", device.path);
        }
    }

    #[test]
    fn a_privileged_container_holds_no_allocation(
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        // All the host's devices, and one rule that allows everything.
        let mut container = container.unwrap_or_default();
        container.cdi_devices.clear();
        let linux = container.linux.get_or_insert_default();
        linux.resources.get_or_insert_default().devices =
            vec![LinuxDeviceCgroup { allow: true, access: "rwm".into(), ..Default::default() }];
        let plain = {
            let mut plain = container.clone();
            plain.linux.get_or_insert_default().devices.retain(|device| !device.path.starts_with("/dev/nvidia") || device.path.contains("caps"));
            plain
        };
        let config = plugin::start(&CommandLine::default()).unwrap();
        let answer = |container| plugin::answer(&config, &world, &plugin::request(pod.as_ref(), Some(container)));
        prop_assert_eq!(answer(&container), answer(&plain));
    }
}
