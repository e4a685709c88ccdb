//! From a manifest to CRI: what the kubelet asks the runtime for.
//!
//! What it does is held to what real ones asked for (`fake-runtime vectors --kubelet`). What only a cluster knows and
//! nobody told stands in a variable as `<where it is>`, and [`Played::notes`] say so: plugins mostly care whether a
//! key is set.

mod allocation;
mod amounts;
mod annotations;
mod class;
mod env;
mod expand;
mod gpus;
mod host_name;
mod identity;
mod mounts;
mod oom;
mod order;
mod refusal;
mod resources;
mod told;
mod volumes;

use std::collections::BTreeMap;

pub use allocation::{Allocation, Given};
pub use refusal::Refusal;
pub use told::{Kubelet, Source};

use super::cri::{self, Namespaces, PidNamespace};
use super::manifest::{Container, Pod, SecurityContext};
use gpus::Gpus;
use identity::Identity;
use order::in_order;

/// What a kubelet asks for.
#[derive(Clone, Debug)]
pub struct Played {
    /// The pod.
    pub sandbox: cri::Sandbox,
    /// Its containers, in order.
    pub containers: Vec<cri::Container>,
    /// Of each container, what its devices cannot be known for.
    pub unknown: Vec<Option<String>>,
    /// What nobody told, a line each.
    pub notes: Vec<String>,
}

impl Kubelet<'_> {
    /// What it asks the runtime for.
    ///
    /// # Errors
    ///
    /// The Pod does not get that far.
    pub fn play(&self, pod: &Pod) -> Result<Played, Refusal> {
        refusal::check(pod, self)?;
        let identity = Identity::of(pod, self);
        let mut gpus = Gpus::new(pod, self);
        let mut notes = Vec::new();
        let mut unknown = Vec::new();
        let mut containers = Vec::new();
        for container in in_order(pod) {
            let plain = self.container(pod, &identity, container, &mut notes);
            unknown.push(self.allocation.unknown(container));
            containers.push(cri::Container {
                devices: gpus.next(container),
                cdi_devices: self.allocation.cdi_devices(pod, container),
                ..plain
            });
        }
        Ok(Played {
            sandbox: self.sandbox(pod, identity),
            containers,
            unknown,
            notes,
        })
    }

    fn sandbox(&self, pod: &Pod, identity: Identity) -> cri::Sandbox {
        let spec = &pod.spec;
        let mut labels = pod.metadata.labels.clone();
        labels.extend(identity.labels());
        let Identity {
            name,
            namespace,
            uid,
        } = &identity;
        let class = self.cluster.runtime_class(&spec.runtime_class_name);
        let handler = match class {
            Some(class) => &class.handler,
            // The usual name for both is the same.
            None => &spec.runtime_class_name,
        };
        cri::Sandbox {
            hostname: host_name::of(pod, &identity, &self.node.cluster_domain),
            log_directory: format!("/var/log/pods/{namespace}_{name}_{uid}"),
            labels,
            annotations: annotations::of_pod(pod, uid, self.source),
            cgroup_parent: resources::cgroup_parent(pod, uid, self.node),
            runtime_handler: handler.clone(),
            namespaces: Namespaces {
                host_network: spec.host_network,
                host_ipc: spec.host_ipc,
                own_users: spec.host_users == Some(false),
                pid: match (spec.host_pid, spec.share_process_namespace) {
                    (true, _) => PidNamespace::Node,
                    (false, true) => PidNamespace::Pod,
                    (false, false) => PidNamespace::Container,
                },
            },
            resources: Some(resources::of_pod(pod)),
            overhead: resources::overhead(pod, class),
            name: identity.name,
            namespace: identity.namespace,
            uid: identity.uid,
        }
    }

    /// A container without the devices that were allocated to it.
    fn container(
        &self,
        pod: &Pod,
        identity: &Identity,
        container: &Container,
        notes: &mut Vec<String>,
    ) -> cri::Container {
        let mut env = env::of(self, pod, identity, container, notes);
        let expanded = |texts: &[String]| {
            let texts = texts.iter();
            texts.map(|text| expand::expand(text, &env)).collect()
        };
        let (command, args) = (expanded(&container.command), expanded(&container.args));
        let mounts = mounts::of(self, pod, identity, container, &env, notes);
        if let Some(seed) = self.shuffle {
            // Another order for each container of a Pod.
            let name = container.name.bytes().map(u64::from).sum::<u64>();
            env.shuffle(seed.wrapping_add(name));
        }
        let context = &container.security_context;
        let mut labels = BTreeMap::from(identity.labels());
        labels.insert(
            "io.kubernetes.container.name".to_owned(),
            container.name.clone(),
        );
        let target = Some(&container.target_container_name);
        cri::Container {
            name: container.name.clone(),
            image: container.image.clone(),
            command,
            args,
            env: env.into_pairs(),
            mounts,
            labels,
            annotations: annotations::of_container(pod, container),
            sees_processes_of: target.filter(|name| !name.is_empty()).cloned(),
            privileged: context.privileged.unwrap_or(false),
            tty: container.tty,
            readonly_root: context.read_only_root_filesystem.unwrap_or(false),
            user: user(&pod.spec.security_context, context),
            seccomp: context
                .seccomp_profile
                .clone()
                .or_else(|| pod.spec.security_context.seccomp_profile.clone()),
            resources: resources::of_container(pod, container, self.node),
            ..Default::default()
        }
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
