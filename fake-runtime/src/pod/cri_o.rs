//! From CRI to what CRI-O asks plugins. Pinned to recordings of three versions, request for request.
//!
//! Not filled in, because nothing but a real node knows it: addresses, times, an image's digests and layers.

mod annotations;
mod mounts;

use indexmap::IndexMap;
use nri_proto::api;

use super::containerd::{self, DEFAULT_PATH, cdi_names, linux};
use super::cri::{Container, PidNamespace, Resources, Sandbox};
use super::identifier::{identifier, uid};
use super::node::Node;
use crate::create_error::CreateError;
use crate::profile::Profile;

/// The label by which older versions know a container's name.
const CONTAINER_NAME: &str = "io.kubernetes.container.name";

/// Plays CRI-O on one node.
#[derive(Clone, Copy, Debug)]
pub struct CriO<'a> {
    /// Which version.
    pub profile: &'a Profile,
    /// The node.
    pub node: &'a Node,
}

impl CriO<'_> {
    /// The request about one container of a pod. `image_env` is what the image sets.
    ///
    /// # Errors
    ///
    /// A CDI device that the node does not have.
    pub fn create_container(
        self,
        sandbox: &Sandbox,
        container: &Container,
        image_env: &[String],
    ) -> Result<api::CreateContainerRequest, CreateError> {
        let asked = self.container(sandbox, container, image_env);
        let names = cdi_names(container);
        let asked = containerd::with_cdi_devices(self.profile, self.node, asked, names)?;
        Ok(api::CreateContainerRequest {
            pod: Some(self.pod(sandbox)),
            container: Some(asked),
        })
    }

    /// A pod as plugins see it.
    #[must_use]
    pub fn pod(self, sandbox: &Sandbox) -> api::PodSandbox {
        let id = containerd::sandbox_id(sandbox);
        let mut labels = sandbox.labels.clone();
        labels.extend(
            [
                (CONTAINER_NAME, "POD"),
                ("io.kubernetes.pod.name", &sandbox.name),
                ("io.kubernetes.pod.namespace", &sandbox.namespace),
                ("io.kubernetes.pod.uid", &sandbox.uid),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        let mut namespaces = Vec::new();
        if sandbox.namespaces.pid != PidNamespace::Node {
            namespaces.push(linux::namespace("pid", ""));
        }
        // The network is pinned even where it is the node's.
        namespaces.push(pinned("network", "net", &id));
        namespaces.extend(ipc_uts_mount(&id));
        api::PodSandbox {
            name: sandbox.name.clone(),
            uid: sandbox.uid.clone(),
            namespace: sandbox.namespace.clone(),
            labels,
            annotations: sandbox.annotations.clone(),
            runtime_handler: sandbox.runtime_handler.clone(),
            linux: Some(api::LinuxPodSandbox {
                pod_overhead: None,
                cgroups_path: format!("crio-{id}"),
                namespaces,
                ..linux::pod(sandbox, &id)
            }),
            // There is a container for the pod only where that holds its processes' namespace.
            pid: match sandbox.namespaces.pid {
                PidNamespace::Pod => self.node.sandbox_pid,
                PidNamespace::Container | PidNamespace::Node => 0,
            },
            ips: Vec::new(),
            id,
        }
    }

    fn container(
        self,
        sandbox: &Sandbox,
        container: &Container,
        image_env: &[String],
    ) -> api::Container {
        let requests = &self.profile.requests;
        let pod_id = containerd::sandbox_id(sandbox);
        let id = identifier(&[&pod_id, &container.name]);
        let labelled = container.labels.get(CONTAINER_NAME).cloned();
        let image = containerd::image_of(self.node, container, image_env);
        let of_image = image.env.as_deref().unwrap_or_default();
        let name = labelled.unwrap_or_else(|| match requests.container_name_from_label {
            true => String::new(),
            false => container.name.clone(),
        });
        api::Container {
            pod_sandbox_id: pod_id.clone(),
            name,
            labels: container.labels.clone(),
            annotations: annotations::of(requests, sandbox, container, &id, &pod_id),
            args: containerd::args(container, &image),
            env: self.env(sandbox, container, of_image),
            mounts: mounts::of(sandbox, container, &pod_id),
            hooks: Some(api::Hooks::default()),
            linux: Some(self.linux(sandbox, container, &id, &pod_id)),
            user: requests.user.then(|| api::User {
                uid: container.user.uid,
                gid: container.user.gid,
                additional_gids: vec![container.user.gid],
            }),
            id,
            ..Default::default()
        }
    }

    /// Its own variables, then the Pod's, then those of the image that the Pod does not set. Its table of what is there
    /// is by whole entries: `PATH` and, with a terminal, `TERM` come a second time.
    fn env(self, sandbox: &Sandbox, container: &Container, image_env: &[String]) -> Vec<String> {
        let hostname = match sandbox.hostname.as_str() {
            "" => &self.node.name,
            hostname => hostname,
        };
        let mut env = vec![format!("PATH={DEFAULT_PATH}"), "TERM=xterm".to_owned()];
        env.extend(container.tty.then(|| "TERM=xterm".to_owned()));
        env.push(format!("HOSTNAME={hostname}"));
        let mut merged: IndexMap<&str, &str> = IndexMap::new();
        for (key, value) in &container.env {
            merged.insert(key, value);
        }
        for (key, value) in image_env.iter().filter_map(|entry| entry.split_once('=')) {
            merged.entry(key).or_insert(value);
        }
        env.extend(merged.iter().map(|(key, value)| format!("{key}={value}")));
        env
    }

    fn linux(
        self,
        sandbox: &Sandbox,
        container: &Container,
        id: &str,
        pod_id: &str,
    ) -> api::LinuxContainer {
        let mut namespaces = Vec::new();
        match sandbox.namespaces.pid {
            PidNamespace::Container => namespaces.push(linux::namespace("pid", "")),
            PidNamespace::Pod => {
                let path = format!("/proc/{}/ns/pid", self.node.sandbox_pid);
                namespaces.push(linux::namespace("pid", &path));
            }
            PidNamespace::Node => {}
        }
        if !sandbox.namespaces.host_network {
            namespaces.push(pinned("network", "net", pod_id));
        }
        namespaces.extend(ipc_uts_mount(pod_id));
        let cgroups_path = match sandbox.cgroup_parent.as_str() {
            "" => format!("/crio/crio-{id}"),
            parent if parent.ends_with(".slice") => {
                let slice = parent.rsplit('/').next().unwrap_or_default();
                format!("{slice}:crio:{id}")
            }
            parent => format!("{parent}/crio-{id}"),
        };
        let mut asked = api::LinuxContainer {
            cgroups_path,
            namespaces,
            seccomp_profile: None,
            ..linux::container(self.profile, self.node, sandbox, container, id)
        };
        for device in &mut asked.devices {
            device.file_mode = None;
        }
        let resources = asked.resources.get_or_insert_default();
        if container.resources != Resources::default() {
            // What the kubelet leaves open is 0, and set.
            let cpu = resources.cpu.get_or_insert_default();
            cpu.period.get_or_insert_default();
            cpu.quota.get_or_insert_default();
            cpu.shares.get_or_insert_default();
        }
        let pids = self.profile.requests.pids;
        resources.pids = pids.then_some(api::LinuxPids { limit: -1 });
        asked
    }
}

/// The pod's IPC and host name, which are pinned too, and the container's mounts.
fn ipc_uts_mount(pod_id: &str) -> [api::LinuxNamespace; 3] {
    [
        pinned("ipc", "ipc", pod_id),
        pinned("uts", "uts", pod_id),
        linux::namespace("mount", ""),
    ]
}

/// A namespace of the pod, held by a file.
fn pinned(kind: &str, short: &str, pod_id: &str) -> api::LinuxNamespace {
    let file = uid("namespaces", pod_id);
    linux::namespace(kind, &format!("/var/run/{short}ns/{file}"))
}
