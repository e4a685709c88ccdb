//! A CDI specification that does not resolve is no specification.

use crate::clean::clean;
use crate::settings::{Settings, is_inside};
use crate::tree::Node;
use crate::{World, devices};

/// What a CDI specification says, as far as it matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Specification {
    /// `vendor/class`.
    pub kind: String,
    /// Each device's name and the nodes that come with it.
    pub devices: Vec<(String, Vec<SpecifiedNode>)>,
    /// The nodes that come with every device.
    pub nodes: Vec<SpecifiedNode>,
}

/// A device node of a specification; what it does not say is empty, or 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecifiedNode {
    /// Where it goes in the container.
    pub path: String,
    /// Where it is on the node.
    pub host_path: String,
    /// Its major number.
    pub major: u32,
}

/// What comes of the CDI name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// It may be given.
    Resolves,
    /// The runtime would not know it.
    Unresolved,
    /// It would bring a node that must not be handed out.
    HeldBack,
}

impl SpecifiedNode {
    fn on_the_host(&self) -> String {
        clean(if self.host_path.is_empty() {
            &self.path
        } else {
            &self.host_path
        })
    }
}

/// Whether the name is given.
pub fn name(settings: &Settings, world: &World) -> Name {
    let Some(Node::Specification(specification)) = world.tree.stat(&settings.cdi_spec_host) else {
        return Name::Unresolved;
    };
    let full_name = |device: &str| format!("{}={device}", specification.kind);
    let mut nodes = specification.nodes.clone();
    let mut named = 0;
    for (device, its_nodes) in &specification.devices {
        if full_name(device) == settings.cdi_device {
            named += 1;
            nodes.extend(its_nodes.iter().cloned());
        }
    }
    if named != 1 {
        return Name::Unresolved;
    }
    for node in &nodes {
        let host = node.on_the_host();
        if is_inside(&host, &settings.overlay_host) && !world.tree.exists(&host) {
            return Name::Unresolved;
        }
    }
    if nodes.iter().any(|node| is_held_back(settings, world, node)) {
        return Name::HeldBack;
    }
    Name::Resolves
}

/// A node whose major the kernel's real driver owns, or whose numbers cannot be looked at while that driver is there.
fn is_held_back(settings: &Settings, world: &World, node: &SpecifiedNode) -> bool {
    let driver_is_there = settings.gates.real_driver_guard && !world.nvidia_majors.is_empty();
    let host = node.on_the_host();
    let found = if host.starts_with('/') {
        world.tree.stat(&host)
    } else {
        None
    };
    let owned = |major: u32| world.nvidia_majors.contains(&major.into());
    let specified = node.major != 0;
    driver_is_there
        && match found {
            _ if specified && owned(node.major) => true,
            Some(Node::Character(device)) => devices::is_real(settings, world, device),
            Some(_) => false,
            None => !specified,
        }
}
