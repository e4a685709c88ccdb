//! What no manifest tells, and a recording does: ids and the parts of names that are made up, addresses, process ids,
//! what is in a file from which a variable is read, which of several GPUs a device plugin gave, what a DRA driver's CDI
//! device brings, where a link of the node leads, and the device nodes in directories below `/dev`, which `node.json`
//! does not list.

use std::path::Path;

use nri_proto::api::{Container, CreateContainerRequest, LinuxDevice, PodSandbox};

use super::names::is_alike;
use super::recorded::Asked;
use crate::cdi::{CdiDevice, CdiSpec, ContainerEdits, DeviceNode, Registry};
use crate::host::Host;
use crate::pod::cri::Device;
use crate::pod::image::Images;
use crate::pod::kubelet::Source;
use crate::pod::manifest::{self, Manifest, Pod};
use crate::pod::node::Node;
use crate::profile::Profile;

fn container(request: &CreateContainerRequest) -> &Container {
    static NONE: std::sync::LazyLock<Container> = std::sync::LazyLock::new(Container::default);
    request.container.as_ref().unwrap_or(&NONE)
}

fn sandbox(request: &CreateContainerRequest) -> &PodSandbox {
    static NONE: std::sync::LazyLock<PodSandbox> = std::sync::LazyLock::new(PodSandbox::default);
    request.pod.as_ref().unwrap_or(&NONE)
}

pub(super) fn container_name(request: &CreateContainerRequest) -> &str {
    &container(request).name
}

/// Where the kubelet had the Pod from.
pub(super) fn source(request: &CreateContainerRequest) -> Source {
    let annotation = sandbox(request)
        .annotations
        .get("kubernetes.io/config.source");
    match annotation.map(String::as_str) {
        Some("file") => Source::File,
        _ => Source::Api,
    }
}

/// The Pod as it was read back from the cluster, if it was.
pub(super) fn applied(path: &Path, request: &CreateContainerRequest) -> Option<Pod> {
    let text = std::fs::read_to_string(path).ok()?;
    let mut pods = Manifest::parse(&text).ok()?.pods.into_iter();
    pods.find(|pod| pod.metadata.name == sandbox(request).name)
}

/// The Pod that was asked about, with what was made up for it and what became of it.
pub(super) fn pod(
    pods: &[Pod],
    node: &Node,
    request: &CreateContainerRequest,
    applied: Option<&Pod>,
) -> Result<Pod, String> {
    let recorded = sandbox(request);
    let is_it = |pod: &&Pod| {
        let metadata = &pod.metadata;
        let mut name = match metadata.name.as_str() {
            "" => crate::pod::manifest::generated(&metadata.generate_name),
            name => name.to_owned(),
        };
        if source(request) == Source::File {
            name = format!("{name}-{}", node.name);
        }
        metadata.namespace() == recorded.namespace && is_alike(&name, &recorded.name)
    };
    let pod = pods.iter().find(is_it);
    let mut pod = pod
        .cloned()
        .ok_or_else(|| format!("there is no pod {}/{}", recorded.namespace, recorded.name))?;
    if source(request) == Source::Api {
        pod.metadata.name.clone_from(&recorded.name);
    }
    pod.metadata.uid.clone_from(&recorded.uid);
    for (key, value) in &mut pod.metadata.labels {
        let is_uid = key.ends_with("controller-uid");
        if let Some(recorded) = recorded.labels.get(key)
            && (is_alike(value, recorded) || is_uid && recorded.len() == value.len())
        {
            value.clone_from(recorded);
        }
    }
    if let Some(applied) = applied {
        pod.status.clone_from(&applied.status);
        // Those were added while it ran.
        let ephemeral = &applied.spec.ephemeral_containers;
        pod.spec.ephemeral_containers.clone_from(ephemeral);
    }
    pod.status.pod_ip = pod.status.pod_ip.or(recorded.ips.first().cloned());
    let spec = &mut pod.spec;
    for container in spec.init_containers.iter_mut().chain(&mut spec.containers) {
        if container.name == container_name(request) {
            read_files(container, request);
        }
    }
    Ok(pod)
}

/// The variables that are read from files have the values that were there.
fn read_files(asked: &mut manifest::Container, request: &CreateContainerRequest) {
    let shown = &container(request).env;
    for variable in &mut asked.env {
        let source = variable.value_from.as_ref();
        if source.is_none_or(|source| source.file_key_ref.is_none()) {
            continue;
        }
        let prefix = format!("{}=", variable.name);
        let mut values = shown.iter().rev().filter_map(|it| it.strip_prefix(&prefix));
        if let Some(value) = values.next() {
            variable.value = value.replace('$', "$$");
        }
    }
}

/// The node, with what only this request tells of it.
pub(super) fn node(
    node: &Node,
    profile: &Profile,
    request: &CreateContainerRequest,
    asked: &Asked,
) -> Node {
    let shown = container(request);
    let mut node = Node {
        sandbox_pid: sandbox(request).pid,
        cdi: Some(cdi(profile, &node.images, shown, asked)),
        ..node.clone()
    };
    for mount in asked
        .container
        .mounts
        .iter()
        .filter(|it| it.image.is_empty())
    {
        let mut all = shown.mounts.iter();
        let shown = all.find(|it| it.destination == mount.container_path);
        if let Some(shown) = shown
            && shown.source != mount.host_path
            && !mount.host_path.starts_with("/var/lib/kubelet/")
        {
            node.links
                .insert(mount.host_path.clone(), shown.source.clone());
        }
    }
    if asked.container.privileged {
        let nested = devices(shown).iter().filter(|device| {
            let below = device.path.strip_prefix("/dev/");
            below.is_some_and(|below| below.contains('/'))
        });
        node.devices.extend(nested.map(Device::of_the_node));
        node.devices.sort_by(|a, b| a.path.cmp(&b.path));
    }
    node
}

fn devices(container: &Container) -> &[LinuxDevice] {
    let linux = container.linux.as_ref();
    linux.map_or(&[], |linux| &linux.devices)
}

/// What the container's CDI devices bring: what it shows beyond what it was asked for with. All of it is taken for the
/// first device's.
fn cdi(profile: &Profile, images: &Images, shown: &Container, asked: &Asked) -> Host {
    let names = &asked.container.cdi_devices;
    if names.is_empty() || !profile.cri.cdi_devices {
        return Host::default();
    }
    let given = &asked.container.devices;
    let brought = devices(shown).iter();
    let brought = brought.filter(|it| !given.iter().any(|given| given.path == it.path));
    let of_image = images.get(&asked.container.image);
    let of_image = of_image.and_then(|(_, image)| image.env.clone());
    let of_image = of_image.unwrap_or_default();
    let is_new = |item: &&String| {
        let name = item.split('=').next().unwrap_or_default();
        let own = ["PATH", "HOSTNAME", "TERM"].contains(&name);
        let asked = asked.container.env.iter().any(|(key, _)| key == name);
        !own && !asked && !of_image.contains(item)
    };
    let edits = ContainerEdits {
        env: shown.env.iter().filter(is_new).cloned().collect(),
        device_nodes: brought.map(device_node).collect(),
        ..ContainerEdits::default()
    };
    let spec = |(number, name): (usize, &String)| {
        let (kind, name) = name.split_once('=')?;
        Some(CdiSpec {
            kind: kind.to_owned(),
            devices: vec![CdiDevice {
                name: name.to_owned(),
                container_edits: if number == 0 {
                    edits.clone()
                } else {
                    ContainerEdits::default()
                },
            }],
            ..CdiSpec::default()
        })
    };
    let specs: Vec<CdiSpec> = names.iter().enumerate().filter_map(spec).collect();
    Host {
        cdi: Registry::from(specs),
        ..Host::default()
    }
}

fn device_node(device: &LinuxDevice) -> DeviceNode {
    DeviceNode {
        path: device.path.clone(),
        kind: device.r#type.clone(),
        major: device.major,
        minor: device.minor,
        file_mode: device.file_mode.as_ref().map(|mode| mode.value),
        ..DeviceNode::default()
    }
}
