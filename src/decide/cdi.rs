//! What a CDI device brings, by its specification. The runtime refuses a container whose CDI name it cannot resolve, for
//! as long as the specification stays as it is, so a name is given only where it resolves.

use std::fmt;

use serde::Deserialize;

use crate::path::AbsolutePath;

/// A device node that a CDI device brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CdiNode {
    /// Where it is on the host. `None` where the specification says nothing that could be a place.
    pub path: Option<AbsolutePath>,
    /// The major number that the specification gives it, whatever is at the path.
    pub major: Option<u32>,
}

impl fmt::Display for CdiNode {
    /// Its path.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => path.fmt(out),
            None => out.write_str("a node without a path"),
        }
    }
}

/// The nodes that come with the device `name`, by the text of a specification: the device's own, and those that come with
/// each of the specification's devices.
///
/// # Errors
///
/// Why the name does not resolve.
pub fn nodes(text: &str, name: &str) -> Result<Vec<CdiNode>, String> {
    let specification: Specification = serde_saphyr::from_str(text)
        .map_err(|error| format!("it cannot be read: {}", error.without_snippet()))?;
    let (kind, name) = name.split_once('=').unwrap_or((name, ""));
    if specification.kind != kind {
        return Err(format!("its kind is {:?}", specification.kind));
    }
    let devices = specification.devices.unwrap_or_default();
    let mut named = devices.into_iter().filter(|device| device.name == name);
    let (device, another) = (named.next(), named.next());
    let device = match (device, another) {
        (Some(device), None) => device,
        (Some(_), Some(_)) => {
            return Err(format!("more than one of its devices is named {name:?}"));
        }
        (None, _) => return Err(format!("none of its devices is named {name:?}")),
    };
    let edits = [device.edits, specification.edits].into_iter().flatten();
    let nodes = edits.filter_map(|edits| edits.nodes).flatten();
    Ok(nodes.map(CdiNode::from).collect())
}

/// The first of the nodes that has to exist and does not.
pub fn missing<'a>(
    nodes: &'a [CdiNode],
    overlay: &AbsolutePath,
    exists: impl Fn(&AbsolutePath) -> bool,
) -> Option<&'a AbsolutePath> {
    let mut paths = below(nodes, overlay);
    paths.find(|path| !exists(path))
}

/// Where the nodes are that have to exist.
pub fn below<'a>(
    nodes: &'a [CdiNode],
    overlay: &AbsolutePath,
) -> impl Iterator<Item = &'a AbsolutePath> {
    let paths = nodes.iter().filter_map(|node| node.path.as_ref());
    paths.filter(|path| overlay.contains(path))
}

#[derive(Deserialize)]
struct Specification {
    kind: String,
    devices: Option<Vec<Device>>,
    #[serde(rename = "containerEdits")]
    edits: Option<Edits>,
}

#[derive(Deserialize)]
struct Device {
    name: String,
    #[serde(rename = "containerEdits")]
    edits: Option<Edits>,
}

#[derive(Deserialize)]
struct Edits {
    #[serde(rename = "deviceNodes")]
    nodes: Option<Vec<DeviceNode>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeviceNode {
    path: Option<String>,
    host_path: Option<String>,
    major: Option<u32>,
}

impl From<DeviceNode> for CdiNode {
    fn from(node: DeviceNode) -> Self {
        let host_path = node.host_path.filter(|path| !path.is_empty());
        let path = host_path.or(node.path).unwrap_or_default();
        Self {
            path: AbsolutePath::new(&path),
            // 0 is CDI's word for a number that is not given.
            major: node.major.filter(|major| *major != 0),
        }
    }
}
