//! NRI's requests with only the fields that deciding about a container needs.
//!
//! A request holds a container's whole OCI spec; reading a few of its fields takes a fraction of the time that
//! reading all of them does. What is left out here is skipped, not checked.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::{DecodeError, Message};

use crate::api::{CdiDevice, LinuxDeviceCgroup};

/// A container is about to be created: [`api::CreateContainerRequest`](crate::api::CreateContainerRequest).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct CreateContainerRequest {
    /// The container's pod.
    #[prost(message, optional, tag = "1")]
    pub pod: Option<PodSandbox>,
    /// The container, as earlier plugins' adjustments left it.
    #[prost(message, optional, tag = "2")]
    pub container: Option<Container>,
}

/// A part of what exists: [`api::SynchronizeRequest`](crate::api::SynchronizeRequest).
///
/// Pods and containers stay encoded, as slices of the request, until they are asked for: a request may be 4 MiB,
/// and one container at a time is enough.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SynchronizeRequest {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    pods: Vec<Bytes>,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    containers: Vec<Bytes>,
    /// Another part follows; the answer has to give this back.
    #[prost(bool, tag = "3")]
    pub more: bool,
}

impl SynchronizeRequest {
    /// Decodes one pod after the other. One that cannot be decoded does not hide the others.
    pub fn pods(&self) -> impl ExactSizeIterator<Item = Result<PodSandbox, DecodeError>> {
        self.pods.iter().map(|pod| PodSandbox::decode(pod.as_ref()))
    }

    /// Decodes one container after the other. Its pod may have come with an earlier part.
    pub fn containers(&self) -> impl ExactSizeIterator<Item = Result<Container, DecodeError>> {
        self.containers
            .iter()
            .map(|container| Container::decode(container.as_ref()))
    }
}

/// A pod: [`api::PodSandbox`](crate::api::PodSandbox).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct PodSandbox {
    /// By which its containers name it.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Its Kubernetes name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Its Kubernetes namespace.
    #[prost(string, tag = "4")]
    pub namespace: String,
    /// Its Kubernetes labels, and the runtime's own.
    #[prost(btree_map = "string, string", tag = "5")]
    pub labels: BTreeMap<String, String>,
    /// Its Kubernetes annotations, and the runtime's own.
    #[prost(btree_map = "string, string", tag = "6")]
    pub annotations: BTreeMap<String, String>,
}

/// A container: [`api::Container`](crate::api::Container).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Container {
    /// The id of its pod.
    #[prost(string, tag = "2")]
    pub pod_sandbox_id: String,
    /// Its name within the pod.
    #[prost(string, tag = "3")]
    pub name: String,
    /// A number of [`api::ContainerState`](crate::api::ContainerState).
    #[prost(enumeration = "crate::api::ContainerState", tag = "4")]
    pub state: i32,
    /// `KEY=value` in order; a key may stand twice.
    #[prost(string, repeated, tag = "8")]
    pub env: Vec<String>,
    /// What is mounted where.
    #[prost(message, repeated, tag = "9")]
    pub mounts: Vec<Mount>,
    /// What is Linux's own.
    #[prost(message, optional, tag = "11")]
    pub linux: Option<LinuxContainer>,
    /// The CDI devices asked for over CRI; from NRI 0.12 on.
    #[prost(message, repeated, tag = "20")]
    pub cdi_devices: Vec<CdiDevice>,
}

/// A mount: [`api::Mount`](crate::api::Mount).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Mount {
    /// Where, in the container.
    #[prost(string, tag = "1")]
    pub destination: String,
    /// `bind`, or a file system.
    #[prost(string, tag = "2")]
    pub r#type: String,
    /// The path on the host, or what the file system makes of it.
    #[prost(string, tag = "3")]
    pub source: String,
    /// Its options, in order.
    #[prost(string, repeated, tag = "4")]
    pub options: Vec<String>,
}

/// What is Linux's own about a container: [`api::LinuxContainer`](crate::api::LinuxContainer).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct LinuxContainer {
    /// The namespaces that it joins, or that are made for it.
    #[prost(message, repeated, tag = "1")]
    pub namespaces: Vec<LinuxNamespace>,
    /// Its device nodes.
    #[prost(message, repeated, tag = "2")]
    pub devices: Vec<LinuxDevice>,
    /// Its limits.
    #[prost(message, optional, tag = "3")]
    pub resources: Option<LinuxResources>,
}

/// A namespace: [`api::LinuxNamespace`](crate::api::LinuxNamespace).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct LinuxNamespace {
    /// `user`, `pid`, and so on, as OCI spells it.
    #[prost(string, tag = "1")]
    pub r#type: String,
}

/// A device node: [`api::LinuxDevice`](crate::api::LinuxDevice).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct LinuxDevice {
    /// Where, in the container.
    #[prost(string, tag = "1")]
    pub path: String,
    /// `c`, `b`, `u` or `p`.
    #[prost(string, tag = "2")]
    pub r#type: String,
    /// The major number.
    #[prost(int64, tag = "3")]
    pub major: i64,
    /// The minor number.
    #[prost(int64, tag = "4")]
    pub minor: i64,
}

/// A container's limits: [`api::LinuxResources`](crate::api::LinuxResources).
#[derive(Clone, PartialEq, Eq, Message)]
pub struct LinuxResources {
    /// The rules of its device cgroup, in order.
    #[prost(message, repeated, tag = "7")]
    pub devices: Vec<LinuxDeviceCgroup>,
}
