//! Nothing outside the surfaces that were asked for.

use nri_model::CommandLine;
use nri_proto::api::{ContainerAdjustment, PodSandbox};
use proptest::prelude::*;

use super::cases;
use crate::arbitrary::{container, pod, world};
use crate::plugin;

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn nothing_outside_the_selected_surfaces_is_added(
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        let config = plugin::start(&CommandLine::default()).unwrap();
        let request = plugin::request(pod.as_ref(), container.as_ref());
        let adjustment = plugin::answer(&config, &world, &request).adjustment.unwrap_or_default();
        let ContainerAdjustment { mounts, env, linux, cdi_devices, .. } = adjustment;
        let devices = linux.unwrap_or_default().devices;
        let asks = |surface: &str| asks(pod.as_ref(), surface);

        let (channels, gpus): (Vec<_>, Vec<_>) =
            devices.iter().partition(|device| device.path.starts_with("/dev/nvidia-caps-imex-channels/"));
        prop_assert!(asks("imex-channels") || channels.is_empty());
        prop_assert!(asks("devices") || (gpus.is_empty() && cdi_devices.is_empty()));
        let infiniband = |key: &str| key.starts_with("MOCK_IB_");
        prop_assert!(asks("infiniband") || !env.iter().any(|pair| infiniband(&pair.key)));
        // A node in a user namespace is a mount.
        let (nodes, mounts): (Vec<_>, Vec<_>) =
            mounts.iter().map(|mount| &mount.destination).partition(|path| path.starts_with("/dev/nvidia"));
        let is_channel = |path: &&String| path.starts_with("/dev/nvidia-caps-imex-channels/");
        prop_assert!(asks("imex-channels") || !nodes.iter().any(is_channel));
        prop_assert!(asks("devices") || nodes.iter().all(is_channel));
        // IMEX channels bring neither the overlay nor environment.
        prop_assert_eq!(mounts.is_empty(), env.is_empty());
        for mount in mounts {
            prop_assert!(mount == "/opt/nvml-mock" || mount == "/opt/nvml-mock/driver/config");
        }
    }
}

fn asks(pod: Option<&PodSandbox>, surface: &str) -> bool {
    let key = format!("nvml-mock.nvidia.com/{surface}");
    let value = pod.and_then(|pod| pod.annotations.get(&key));
    value.is_some_and(|value| value.to_lowercase() == "true")
}
