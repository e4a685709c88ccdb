//! The plugin under real containerd.
//!
//! A [`Node`] is a Docker container with containerd in it, from the images that `ci/containerd/build`
//! makes. A test starts one of the version it is about, lets a [`Plugin`] connect to it, runs pods over
//! CRI and looks at them from inside. Every test has nodes of its own, so that tests run beside each
//! other.
//!
//! Everything here is for tests: what goes wrong panics, with what containerd and the plugin said.

#![expect(
    clippy::allow_attributes_without_reason,
    reason = "tonic writes some into what it generates"
)]

pub mod binary;
pub mod cri;
mod engine;
mod image;
mod inside;
mod load;
mod log;
mod node;
mod parity;
mod plugin;
mod pod;
mod probe;
mod recorder;
mod sandbox;
mod spec;
pub mod surfaces;

pub use image::{PluginContainer, deployed_memory};
pub use inside::{DeviceNode, Inside, MountPoint};
pub use load::Load;
pub use log::Log;
pub use node::{Containerd, Node};
pub use plugin::Plugin;
pub use pod::{Container, Pod};
pub use probe::Probe;
pub use recorder::Recorder;
pub use spec::{ContainerSpec, PodSpec};
