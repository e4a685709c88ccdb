//! From CRI to what containerd asks plugins: its own mounts, variables, rules and labels around what it was
//! told. Pinned to recordings of four versions, request for request, and to what kubelets asked two of them for.
//!
//! Not filled in, because nothing but a real node knows it: addresses, the seccomp filter behind RuntimeDefault,
//! an image's digests.

mod cdi;
mod env;
pub(super) mod linux;
pub(super) mod mounts;
mod paths;

use std::borrow::Cow;
use std::collections::BTreeMap;

use nri_proto::api;

use super::cri::{Container, Sandbox};
use super::identifier::identifier;
use super::image::{self, Image};
use super::node::Node;
use crate::create::CreateError;
use crate::profile::Profile;

/// What a container starts with when its image says nothing.
pub(super) const DEFAULT_PATH: &str =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Names CDI devices in an annotation of the container.
const CDI_ANNOTATION: &str = "cdi.k8s.io/";

/// Plays containerd on one node.
#[derive(Clone, Copy, Debug)]
pub struct Containerd<'a> {
    /// Which version.
    pub profile: &'a Profile,
    /// The node.
    pub node: &'a Node,
}

impl Containerd<'_> {
    /// The request about one container of a pod. `image_env` is what its image sets, if the node does not tell of it.
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
        let asked = with_cdi_devices(self.profile, self.node, asked, cdi_names(container))?;
        Ok(api::CreateContainerRequest {
            pod: Some(self.pod(sandbox)),
            container: Some(asked),
        })
    }

    /// A pod as plugins see it.
    #[must_use]
    pub fn pod(self, sandbox: &Sandbox) -> api::PodSandbox {
        let id = sandbox_id(sandbox);
        let mut annotations = sandbox.annotations.clone();
        annotations.extend(cri_annotations(sandbox, &id));
        annotations.extend(cri(&[
            ("container-type", "sandbox"),
            ("sandbox-log-directory", &sandbox.log_directory),
        ]));
        if self.profile.requests.sandbox_image_annotation {
            annotations.extend(cri(&[("podsandbox.image-name", &self.node.pause_image)]));
        }
        if let Some(resources) = &sandbox.resources {
            annotations.extend(cri(&[
                ("sandbox-cpu-period", &resources.cpu_period.to_string()),
                ("sandbox-cpu-quota", &resources.cpu_quota.to_string()),
                ("sandbox-cpu-shares", &resources.cpu_shares.to_string()),
                ("sandbox-memory", &resources.memory_limit.to_string()),
            ]));
        }
        let mut labels = sandbox.labels.clone();
        labels.insert("io.cri-containerd.kind".to_owned(), "sandbox".to_owned());
        if self.profile.requests.runtime_type_label {
            let runtime = "io.containerd.runc.v2".to_owned();
            labels.insert("oci_runtime_type".to_owned(), runtime);
        }
        api::PodSandbox {
            name: sandbox.name.clone(),
            uid: sandbox.uid.clone(),
            namespace: sandbox.namespace.clone(),
            labels,
            annotations,
            runtime_handler: sandbox.runtime_handler.clone(),
            linux: Some(linux::pod(sandbox, &id)),
            pid: self.node.sandbox_pid,
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
        let pod_id = sandbox_id(sandbox);
        let id = identifier(&[&pod_id, &container.name]);
        let image = image_of(self.node, container, image_env);
        let image_name = match self.node.images.get(&container.image) {
            _ if self.profile.cri.image_as_asked => container.image.clone(),
            Some((name, _)) => name.to_owned(),
            None => image::full(&container.image),
        };
        let mut annotations = container.annotations.clone();
        annotations.extend(cri_annotations(sandbox, &pod_id));
        annotations.extend(cri(&[
            ("container-type", "container"),
            ("container-name", &container.name),
            ("image-name", &image_name),
        ]));
        let mut labels = image.labels.clone().unwrap_or_default();
        labels.extend(container.labels.clone());
        labels.insert("io.cri-containerd.kind".to_owned(), "container".to_owned());

        let requests = &self.profile.requests;
        let cdi_devices = container
            .cdi_devices
            .iter()
            .filter(|_| requests.cdi_devices);
        api::Container {
            pod_sandbox_id: pod_id.clone(),
            name: container.name.clone(),
            labels,
            annotations,
            args: args(container, &image),
            env: env::of(sandbox, container, &image, self.node),
            mounts: mounts::of(self.node, sandbox, container, &image, &pod_id, &id),
            hooks: Some(api::Hooks::default()),
            linux: Some(linux::container(
                self.profile,
                self.node,
                sandbox,
                container,
                &id,
            )),
            cdi_devices: cdi_devices
                .cloned()
                .map(|name| api::CdiDevice { name })
                .collect(),
            user: requests.user.then(|| user(container)),
            image: requests.image.then(|| api::Image {
                name: container.image.clone(),
                ..Default::default()
            }),
            id,
            ..Default::default()
        }
    }
}

/// The container's image; one that the node does not tell of sets these variables.
pub(super) fn image_of<'a>(
    node: &'a Node,
    container: &Container,
    image_env: &[String],
) -> Cow<'a, Image> {
    match node.images.get(&container.image) {
        Some((_, image)) => Cow::Borrowed(image),
        None => Cow::Owned(Image {
            env: Some(image_env.to_vec()),
            ..Image::default()
        }),
    }
}

/// A command stands alone; arguments go behind the image's ENTRYPOINT, in place of its CMD.
pub(super) fn args(container: &Container, image: &Image) -> Vec<String> {
    let of_image = |words: &Option<Vec<String>>| words.clone().unwrap_or_default();
    let Container { command, args, .. } = container;
    match (command.is_empty(), args.is_empty()) {
        (false, _) => [&command[..], args].concat(),
        (true, false) => [of_image(&image.entrypoint), args.clone()].concat(),
        (true, true) => [of_image(&image.entrypoint), of_image(&image.cmd)].concat(),
    }
}

/// The CDI devices that a container asks for: those of its annotations, then those of CRI's own field.
pub(super) fn cdi_names(container: &Container) -> Vec<String> {
    let annotated = container.annotations.iter();
    let annotated = annotated.filter(|(key, _)| key.starts_with(CDI_ANNOTATION));
    let annotated = annotated.flat_map(|(_, names)| names.split(','));
    let asked_for = container.cdi_devices.iter().cloned();
    annotated.map(str::to_owned).chain(asked_for).collect()
}

/// The container with what CDI devices bring.
pub(super) fn with_cdi_devices(
    profile: &Profile,
    node: &Node,
    asked: api::Container,
    names: Vec<String>,
) -> Result<api::Container, CreateError> {
    if names.is_empty() || node.features.cdi == Some(false) {
        return Ok(asked);
    }
    match &node.cdi {
        Some(host) => cdi::inject(profile, host, asked, names),
        None => cdi::inject(profile, &super::node::host_of_gpus(&names), asked, names),
    }
}

/// What tells of the pod, in its own annotations and in those of its containers.
fn cri_annotations(sandbox: &Sandbox, id: &str) -> BTreeMap<String, String> {
    cri(&[
        ("sandbox-id", id),
        ("sandbox-name", &sandbox.name),
        ("sandbox-namespace", &sandbox.namespace),
        ("sandbox-uid", &sandbox.uid),
    ])
}

fn cri(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let annotation =
        |(key, value): &(&str, &str)| (format!("io.kubernetes.cri.{key}"), (*value).to_owned());
    pairs.iter().map(annotation).collect()
}

fn user(container: &Container) -> api::User {
    let user = &container.user;
    let mut additional_gids = vec![user.gid];
    additional_gids.extend(&user.groups);
    api::User {
        uid: user.uid,
        gid: user.gid,
        additional_gids,
    }
}

pub(super) fn sandbox_id(sandbox: &Sandbox) -> String {
    identifier(&[&sandbox.namespace, &sandbox.name, &sandbox.uid])
}
