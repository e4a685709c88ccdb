//! What an adjustment looks like, whatever is in it.

use std::collections::{BTreeMap, BTreeSet};

use fake_runtime::create::{Answer, create};
use fake_runtime::host::Host;
use fake_runtime::profile;
use nri_proto::api::{Container, ContainerAdjustment, CreateContainerRequest};
use proptest::prelude::*;
use proptest::sample::select;

use super::cases;
use crate::arbitrary::{container, pod, valid_command_line, world};
use crate::{plugin, spec};

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn container_engine_accelerators_348_an_adjustment_has_no_duplicates_and_no_idle_keys(
        command_line in valid_command_line(),
        world in world(),
        pod in pod(),
        container in container(),
    ) {
        let config = plugin::start(&command_line).unwrap();
        let request = plugin::request(pod.as_ref(), container.as_ref());
        let Some(adjustment) = plugin::answer(&config, &world, &request).adjustment else {
            return Ok(());
        };
        let ContainerAdjustment { mounts, env, linux, cdi_devices, .. } = adjustment.clone();
        let devices = linux.clone().unwrap_or_default().devices;

        prop_assert!(unique(mounts.iter().map(|mount| &mount.destination)));
        prop_assert!(unique(env.iter().map(|pair| &pair.key)));
        prop_assert!(unique(devices.iter().map(|device| &device.path)));
        prop_assert!(unique(cdi_devices.iter().map(|device| &device.name)));
        let own = effective(container.as_ref());
        for pair in &env {
            prop_assert!(own.get(pair.key.as_str()) != Some(&pair.value.as_str()), "{pair:?} is no change");
        }
        // A leading `-` is how an adjustment takes something away.
        prop_assert!(mounts.iter().all(|mount| mount.destination.starts_with('/')));
        prop_assert!(env.iter().all(|pair| !pair.key.starts_with('-')));
        prop_assert!(!mounts.is_empty() || !env.is_empty() || !devices.is_empty() || !cdi_devices.is_empty());
        // The plugin only ever adds these five.
        let linux = linux.map(|linux| nri_proto::api::LinuxContainerAdjustment {
            devices: linux.devices,
            resources: linux.resources.map(|resources| nri_proto::api::LinuxResources {
                devices: resources.devices,
                ..Default::default()
            }),
            ..Default::default()
        });
        prop_assert_eq!(adjustment, ContainerAdjustment { mounts, env, linux, cdi_devices, ..Default::default() });
    }

    #[test]
    fn every_runtime_takes_every_answer(
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
        // Which CDI specifications the node has is not the plugin's to know.
        let adjustment = ContainerAdjustment { cdi_devices: vec![], ..adjustment };
        let answers = [("10-plugin".to_owned(), Answer::Adjust(Box::new(adjustment)))];
        let before = spec::before(container.as_ref());
        let request = CreateContainerRequest { pod, container };
        let as_it_is = create(profile, request.clone(), before.clone(), &[], &Host::default());
        prop_assume!(as_it_is.result.is_ok());
        let outcome = create(profile, request, before, &answers, &Host::default());
        prop_assert!(outcome.result.is_ok(), "{:?}", outcome.result.err());
    }
}

fn unique<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().all(|item| seen.insert(item))
}

/// The values that the container's process would see.
fn effective(container: Option<&Container>) -> BTreeMap<&str, &str> {
    let items = container.iter().flat_map(|container| &container.env);
    items.filter_map(|item| item.split_once('=')).collect()
}
