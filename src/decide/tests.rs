//! The decision, rule by rule, on trees in memory.

mod compute_domain;
mod environment;
mod evidence;
mod gpu;
mod imex;
mod overlay;
mod selection;
mod tree;
mod twice;
mod user_namespace;
mod volumes;
mod warning;

use tree::Tree;

use super::*;
use crate::flags::{Flags, Invocation};

const DEVICES: &str = "nvml-mock.nvidia.com/devices";
const INFINIBAND: &str = "nvml-mock.nvidia.com/infiniband";
const IMEX: &str = "nvml-mock.nvidia.com/imex-channels";
const OPT_OUT: &str = "nvml-mock.nvidia.com/inject";

/// A runtime that does what it is asked.
const RUNTIME: Runtime = Runtime::UNKNOWN;

/// The configuration of a command line in an empty environment.
fn config(args: &[&str]) -> Config {
    let args = args.iter().map(|arg| (*arg).into());
    match Flags::parse(args, |_| None).unwrap() {
        Invocation::Run(flags) => Config::resolve(*flags).unwrap(),
        Invocation::Print(text) => panic!("no configuration but {text}"),
    }
}

/// A pod in the namespace `default` whose annotations are `true`.
fn pod(annotations: &[&str]) -> Pod {
    annotated(annotations.iter().map(|key| (*key, "true")))
}

fn annotated<'a>(annotations: impl IntoIterator<Item = (&'a str, &'a str)>) -> Pod {
    let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    Pod {
        namespace: "default".to_owned(),
        name: "pod".to_owned(),
        annotations: annotations.into_iter().map(owned).collect(),
        ..Pod::default()
    }
}

fn container(env: &[&str]) -> Container {
    Container {
        name: "main".to_owned(),
        env: env.iter().map(|item| (*item).to_owned()).collect(),
        ..Container::default()
    }
}

/// A container to which the device plugin gave a GPU.
fn allocated() -> Container {
    Container {
        cdi_devices: vec!["k8s.device-plugin.nvidia.com/gpu=0".to_owned()],
        ..container(&[])
    }
}

/// A file system of the container's own at `destination`.
fn mount(destination: &str) -> Mount {
    Mount {
        destination: destination.to_owned(),
        ..Mount::default()
    }
}

fn device(path: &str, major: i64, minor: i64) -> Device {
    Device {
        path: path.to_owned(),
        kind: "c".to_owned(),
        major,
        minor,
    }
}

/// Which device nodes are added.
fn paths(adjustment: &Adjustment) -> Vec<&str> {
    adjustment
        .devices
        .iter()
        .map(|device| device.path.as_str())
        .collect()
}

/// Both steps with an open gate.
fn decide(args: &[&str], tree: &Tree, pod: &Pod, container: &Container) -> Decision {
    let config = config(args);
    let selection = select(&config, Some(pod), Some(container));
    adjust(&config, &selection, Some(container), tree, RUNTIME)
}

/// The adjustment, where there must be one.
fn adjustment(decision: Decision) -> Adjustment {
    match decision.outcome {
        Outcome::Adjusted(adjustment) => adjustment,
        other => panic!("no adjustment but {other:?}"),
    }
}

/// The container after the adjustment, as the runtime shows it to the next plugin.
fn applied(mut container: Container, adjustment: &Adjustment) -> Container {
    for mount in &adjustment.mounts {
        container.mounts.push(Mount {
            destination: mount.destination.clone(),
            source: mount.source.clone(),
            kind: BindMount::KIND.to_owned(),
            options: mount.options.iter().map(|&it| it.to_owned()).collect(),
        });
    }
    for (key, value) in &adjustment.env {
        let own = |item: &String| item.split_once('=').is_some_and(|(own, _)| own == key);
        container.env.retain(|item| !own(item));
        container.env.push(format!("{key}={value}"));
    }
    for grant in &adjustment.device_grants {
        container.device_rules.push(DeviceRule {
            allow: true,
            kind: "c".to_owned(),
            major: Some(grant.major.into()),
            minor: Some(grant.minor.into()),
            access: "rw".to_owned(),
        });
    }
    for node in &adjustment.devices {
        let (major, minor) = (node.major.into(), node.minor.into());
        container.devices.push(device(&node.path, major, minor));
        container.device_rules.push(DeviceRule {
            allow: true,
            kind: "c".to_owned(),
            major: Some(major),
            minor: Some(minor),
            access: "rwm".to_owned(),
        });
    }
    container.cdi_devices.extend(adjustment.cdi_devices.clone());
    container
}
