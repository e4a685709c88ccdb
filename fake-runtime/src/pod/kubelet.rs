//! From a manifest to CRI: what the kubelet asks the runtime for.
//!
//! Left out is what it adds of its own and no decision of a plugin reads (the service variables, its hosts file, the
//! termination log, the service account's token), and what only a cluster knows: the keys that `envFrom` brings.

mod allocation;
mod env;
mod resources;
mod volumes;

use std::collections::BTreeMap;

pub use allocation::Allocation;

use super::cri::{self, Namespaces, PidNamespace};
use super::manifest::{Container, Pod, SecurityContext};
use super::node::Node;
use allocation::Gpus;

/// The order in which the kubelet makes a Pod's containers: the init containers, sidecars among them, then the
/// others.
fn in_order(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.init_containers.iter().chain(&pod.spec.containers)
}

/// What the kubelet asks the runtime for: the pod, and its containers in order.
#[must_use]
pub fn play(
    pod: &Pod,
    node: &Node,
    allocation: &Allocation,
) -> (cri::Sandbox, Vec<cri::Container>) {
    let identity = Identity::of(pod);
    let mut gpus = Gpus::new(pod, allocation);
    let containers = in_order(pod)
        .map(|container| cri::Container {
            devices: gpus.next(container),
            cdi_devices: allocation.cdi_devices(pod, container),
            ..plain(pod, &identity, node, container)
        })
        .collect();
    (sandbox(pod, identity), containers)
}

/// By what a Pod is known.
struct Identity {
    name: String,
    namespace: String,
    uid: String,
}

impl Identity {
    fn of(pod: &Pod) -> Self {
        let or = |text: &str, otherwise: &str| {
            if text.is_empty() {
                otherwise.to_owned()
            } else {
                text.to_owned()
            }
        };
        let metadata = &pod.metadata;
        let generated = match metadata.generate_name.as_str() {
            "" => "pod".to_owned(),
            prefix => format!("{prefix}abcde"),
        };
        let name = or(&metadata.name, &generated);
        let namespace = or(&metadata.namespace, "default");
        let uid = or(&metadata.uid, &super::containerd::uid(&namespace, &name));
        Self {
            name,
            namespace,
            uid,
        }
    }

    fn labels(&self) -> [(String, String); 3] {
        [
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("uid", &self.uid),
        ]
        .map(|(key, value)| (format!("io.kubernetes.pod.{key}"), value.clone()))
    }
}

fn sandbox(pod: &Pod, identity: Identity) -> cri::Sandbox {
    let spec = &pod.spec;
    let mut labels = pod.metadata.labels.clone();
    labels.extend(identity.labels());
    let mut annotations = pod.metadata.annotations.clone();
    annotations.insert("kubernetes.io/config.source".to_owned(), "api".to_owned());
    let hostname = match (spec.host_network, spec.hostname.as_str()) {
        (true, _) => "",
        (false, "") => &identity.name,
        (false, hostname) => hostname,
    };
    let Identity {
        name,
        namespace,
        uid,
    } = &identity;
    cri::Sandbox {
        hostname: hostname.to_owned(),
        log_directory: format!("/var/log/pods/{namespace}_{name}_{uid}"),
        labels,
        annotations,
        cgroup_parent: resources::cgroup_parent(pod, uid),
        runtime_handler: spec.runtime_class_name.clone(),
        namespaces: Namespaces {
            host_network: spec.host_network,
            host_ipc: spec.host_ipc,
            pid: match (spec.host_pid, spec.share_process_namespace) {
                (true, _) => PidNamespace::Node,
                (false, true) => PidNamespace::Pod,
                (false, false) => PidNamespace::Container,
            },
        },
        resources: Some(resources::of_pod(pod)),
        name: identity.name,
        namespace: identity.namespace,
        uid: identity.uid,
    }
}

/// A container without the devices that were allocated to it.
fn plain(pod: &Pod, identity: &Identity, node: &Node, container: &Container) -> cri::Container {
    let env = env::of(pod, identity, node, container);
    let args = container.command.iter().chain(&container.args);
    let context = &container.security_context;
    let mut labels = BTreeMap::from(identity.labels());
    labels.insert(
        "io.kubernetes.container.name".to_owned(),
        container.name.clone(),
    );
    cri::Container {
        name: container.name.clone(),
        image: container.image.clone(),
        args: args.map(|arg| env::expand(arg, &env)).collect(),
        mounts: volumes::mounts(pod, &identity.uid, container),
        labels,
        annotations: BTreeMap::from([("io.kubernetes.container.restartCount".into(), "0".into())]),
        privileged: context.privileged.unwrap_or(false),
        tty: container.tty,
        readonly_root: context.read_only_root_filesystem.unwrap_or(false),
        user: user(&pod.spec.security_context, context),
        seccomp: context
            .seccomp_profile
            .clone()
            .or_else(|| pod.spec.security_context.seccomp_profile.clone()),
        resources: resources::of_container(pod, container, node),
        env,
        ..Default::default()
    }
}

/// The container's own word counts, then the Pod's; the groups are the Pod's alone.
fn user(of_pod: &SecurityContext, own: &SecurityContext) -> cri::User {
    let mut groups: Vec<u32> = of_pod.fs_group.into_iter().collect();
    groups.extend(&of_pod.supplemental_groups);
    cri::User {
        uid: own.run_as_user.or(of_pod.run_as_user).unwrap_or(0),
        gid: own.run_as_group.or(of_pod.run_as_group).unwrap_or(0),
        groups,
    }
}
