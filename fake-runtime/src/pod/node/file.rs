//! A node from a file: what `kubectl get node` prints, or the same facts by themselves.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{CgroupDriver, Node};
use crate::pod::cri::Device;
use crate::pod::image::Images;
use crate::pod::manifest::{At, Metadata, documents};
use crate::pod::quantity::Quantity;

/// Why a file describes no node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It cannot be read as one.
    #[error("describes no node: {0}")]
    Text(#[from] At),
    /// There is none in it, or more than one.
    #[error("has {0} documents where one node is needed")]
    NotOne(usize),
}

/// All of it may be missing. A Node object has some of it below `metadata` and `status`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    name: Option<String>,
    metadata: Option<Metadata>,
    status: Option<Box<File>>,
    memory_bytes: Option<i64>,
    capacity: Option<BTreeMap<String, Quantity>>,
    allocatable: Option<BTreeMap<String, Quantity>>,
    addresses: Option<Vec<Address>>,
    #[serde(rename = "serviceCIDR")]
    service_cidr: Option<String>,
    cgroup_driver: Option<Driver>,
    kubelet_config: Option<Kubelet>,
    runtime_handlers: Option<Vec<RuntimeHandler>>,
    features: Option<NodeFeatures>,
    /// The lines of its configuration.
    containerd_config: Option<Vec<String>>,
    gpu_control_nodes: Option<bool>,
    pause_image: Option<String>,
    devices: Option<Vec<FileDevice>>,
    images: Option<Value>,
}

#[derive(Deserialize)]
struct Address {
    r#type: String,
    address: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Driver {
    Systemd,
    Cgroupfs,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Kubelet {
    cgroup_root: Option<String>,
    cgroup_driver: Option<Driver>,
    cluster_domain: Option<String>,
}

#[derive(Deserialize)]
struct RuntimeHandler {
    #[serde(default)]
    name: String,
    #[serde(default)]
    features: HandlerFeatures,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct HandlerFeatures {
    recursive_read_only_mounts: bool,
    user_namespaces: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct NodeFeatures {
    supplemental_groups_policy: bool,
}

/// A device node as `ls` shows it.
#[derive(Deserialize)]
struct FileDevice {
    path: String,
    r#type: String,
    major: i64,
    minor: i64,
    #[serde(default)]
    mode: String,
}

/// What containerd hands on of `/dev` to nobody: it makes its own.
const OWN: [&str; 4] = ["/dev/console", "/dev/ptmx", "/dev/pts", "/dev/shm"];

impl Node {
    /// The node that a file describes, in YAML or JSON; what it leaves open is as in `usual`.
    ///
    /// # Errors
    ///
    /// It describes none.
    pub fn parse(text: &str, usual: Self) -> Result<Self, NodeError> {
        let documents = documents(text)?;
        let [document] = &documents[..] else {
            return Err(NodeError::NotOne(documents.len()));
        };
        let mut node = usual;
        node.take(document.read::<File>()?);
        Ok(node)
    }

    fn take(&mut self, file: File) {
        let name = file.metadata.map(|metadata| metadata.name).or(file.name);
        set(&mut self.name, name);
        let memory = file.capacity.as_ref().and_then(|it| it.get("memory"));
        let memory = memory.map(|quantity| quantity.units());
        set(&mut self.memory, file.memory_bytes.or(memory));
        set(&mut self.allocatable, file.allocatable.or(file.capacity));
        if let Some(addresses) = file.addresses {
            let mut internal = addresses.into_iter().filter(|it| it.r#type == "InternalIP");
            self.address = internal.next().map(|it| it.address);
        }
        set(
            &mut self.api_server,
            file.service_cidr.and_then(|cidr| first_of(&cidr)),
        );
        let kubelet = file.kubelet_config.unwrap_or_default();
        let driver = file.cgroup_driver.or(kubelet.cgroup_driver);
        set(&mut self.cgroup_driver, driver.map(CgroupDriver::from));
        set(&mut self.cgroup_root, kubelet.cgroup_root);
        set(&mut self.cluster_domain, kubelet.cluster_domain);
        if let Some(handlers) = file.runtime_handlers {
            let usual = handlers.into_iter().find(|handler| handler.name.is_empty());
            let features = usual.map(|handler| handler.features).unwrap_or_default();
            self.features.recursive_read_only = Some(features.recursive_read_only_mounts);
            self.features.user_namespaces = Some(features.user_namespaces);
        }
        if let Some(features) = file.features {
            self.features.supplemental_groups_policy = Some(features.supplemental_groups_policy);
        }
        let configured = file.containerd_config.unwrap_or_default();
        let setting = |name: &str| {
            let mut lines = configured.iter();
            let line = lines.find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" = "));
            line.map(|value| value.trim_matches('"').to_owned())
        };
        set(&mut self.pause_image, setting("sandbox_image"));
        let cdi = setting("enable_cdi").map(|value| value == "true");
        self.features.cdi = cdi.or(self.features.cdi);
        if setting("restrict_oom_score_adj").as_deref() == Some("true") {
            self.least_oom_score = Some(0);
        }
        set(&mut self.gpu_control_nodes, file.gpu_control_nodes);
        set(&mut self.pause_image, file.pause_image);
        set(&mut self.devices, file.devices.map(devices));
        // Of a Node object it is a list of names, which tells nothing.
        if let Some(Value::Object(images)) = file.images {
            self.images.extend(Images::of_node(images));
        }
        if let Some(status) = file.status {
            self.take(*status);
        }
    }
}

impl From<Driver> for CgroupDriver {
    fn from(driver: Driver) -> Self {
        match driver {
            Driver::Systemd => Self::Systemd,
            Driver::Cgroupfs => Self::Cgroupfs,
        }
    }
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

/// The first address of a range, which the API server's Service has.
fn first_of(cidr: &str) -> Option<String> {
    let (address, _) = cidr.split(',').next()?.split_once('/')?;
    match address.parse().ok()? {
        std::net::IpAddr::V4(ip) => Some(std::net::Ipv4Addr::from(u32::from(ip) + 1).to_string()),
        std::net::IpAddr::V6(ip) => Some(std::net::Ipv6Addr::from(u128::from(ip) + 1).to_string()),
    }
}

fn devices(listed: Vec<FileDevice>) -> Vec<Device> {
    let below = |path: &str, own: &str| path == own || path.starts_with(&format!("{own}/"));
    let mut devices: Vec<Device> = listed
        .into_iter()
        .filter(|device| !OWN.iter().any(|own| below(&device.path, own)))
        .map(|device| Device {
            mode: mode(&device.mode),
            path: device.path,
            kind: device.r#type,
            major: device.major,
            minor: device.minor,
            uid: 0,
            gid: 0,
            permissions: "rwm".to_owned(),
        })
        .collect();
    devices.sort_by(|a, b| a.path.cmp(&b.path));
    devices
}

/// The bits of `rw-rw-rw-`.
fn mode(letters: &str) -> u32 {
    let bit = |bits: u32, letter: char| bits << 1 | u32::from(letter != '-');
    letters.chars().take(9).fold(0, bit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_object_and_the_facts_by_themselves_read_alike() {
        let object = "kind: Node
metadata: {name: node-7}
status:
  capacity: {cpu: 8, memory: 32Gi}
  addresses: [{type: Hostname, address: node-7}, {type: InternalIP, address: 192.0.2.7}]
";
        let facts = "name: node-7
capacity: {cpu: 8, memory: 32Gi}
addresses: [{type: InternalIP, address: 192.0.2.7}]
";
        for text in [object, facts] {
            let node = Node::parse(text, Node::new("x", 0)).unwrap();
            assert_eq!(node.name, "node-7");
            assert_eq!(node.memory, 32 << 30);
            assert_eq!(node.allocatable["cpu"].units(), 8);
            assert_eq!(node.address.as_deref(), Some("192.0.2.7"));
        }
    }

    #[test]
    fn its_devices_are_those_that_containerd_hands_on() {
        let text = "devices:
- {path: /dev/zero, type: c, major: 1, minor: 5, mode: rw-rw-rw-}
- {path: /dev/console, type: c, major: 136, minor: 0, mode: rw--w----}
- {path: /dev/fuse, type: c, major: 10, minor: 229, mode: rw-r--r--}
kubeletConfig: {cgroupDriver: cgroupfs, cgroupRoot: /kubelet}
serviceCIDR: 10.96.0.0/16
";
        let node = Node::parse(text, Node::new("x", 0)).unwrap();
        let devices: Vec<_> = node
            .devices
            .iter()
            .map(|it| (it.path.as_str(), it.mode))
            .collect();
        assert_eq!(devices, [("/dev/fuse", 0o644), ("/dev/zero", 0o666)]);
        assert_eq!(node.cgroup_driver, CgroupDriver::Cgroupfs);
        assert_eq!(node.api_server, "10.96.0.1");
    }

    #[test]
    fn what_is_no_node_is_refused() {
        for (text, said) in [
            ("", "has 0 documents where one node is needed"),
            ("capacity: {memory: much}", "describes no node: line 1: "),
        ] {
            let error = Node::parse(text, Node::new("x", 0))
                .unwrap_err()
                .to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
