//! Taking out of a request what is nobody's business, and leaving in what a plugin may decide by.
//!
//! | | |
//! | --- | --- |
//! | names, uids, ids | a number instead, the same for the same; namespaces and containers that are called alike everywhere stay |
//! | paths of the host, image names, addresses | a number instead |
//! | environment | the names of the variables stay |
//! | labels and annotations | their keys stay; of the values `true` and `false` in any case, and what is empty |
//! | command lines, hooks, messages | how many words there are |
//! | everything else | stays: devices, rules, limits, namespaces, and where things are mounted in the container |

use std::collections::BTreeMap;

use nri_proto::api::{Container, Hook, Hooks, Mount, PodSandbox};

/// Namespaces that every cluster has.
const WELL_KNOWN_NAMESPACES: [&str; 4] =
    ["default", "kube-system", "kube-public", "kube-node-lease"];
/// Containers that are called alike everywhere, and by whose name plugins know them.
const WELL_KNOWN_CONTAINERS: [&str; 1] = ["compute-domain-daemon"];
/// What runtimes and the kubelet write the same everywhere.
const WELL_KNOWN_VALUES: [&str; 6] = ["true", "false", "container", "sandbox", "api", "file"];
/// What stands in place of text that has no name of its own.
const REDACTED: &str = "redacted";

/// Replaces the same thing by the same thing, over all requests that it is given.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// What each thing was replaced by.
    replaced: BTreeMap<String, String>,
    /// How many there are of each kind.
    counts: BTreeMap<&'static str, usize>,
}

impl Redactor {
    /// Redacts a pod.
    pub fn pod(&mut self, pod: &mut PodSandbox) {
        self.replace("sandbox", &mut pod.id);
        self.replace("uid", &mut pod.uid);
        self.replace("pod", &mut pod.name);
        self.namespace(&mut pod.namespace);
        pod.labels.values_mut().for_each(|value| self.value(value));
        pod.annotations
            .values_mut()
            .for_each(|value| self.value(value));
        pod.ips
            .iter_mut()
            .for_each(|ip| self.replace("address", ip));
        if let Some(linux) = &mut pod.linux {
            self.path(&mut linux.cgroup_parent);
            self.path(&mut linux.cgroups_path);
        }
    }

    /// Redacts a container.
    pub fn container(&mut self, container: &mut Container) {
        self.replace("id", &mut container.id);
        self.replace("sandbox", &mut container.pod_sandbox_id);
        if !WELL_KNOWN_CONTAINERS.contains(&container.name.as_str()) {
            self.replace("container", &mut container.name);
        }
        container
            .labels
            .values_mut()
            .for_each(|value| self.value(value));
        container
            .annotations
            .values_mut()
            .for_each(|value| self.value(value));
        container.args.iter_mut().for_each(text);
        container.env.iter_mut().for_each(variable);
        container
            .mounts
            .iter_mut()
            .for_each(|mount| self.mount(mount));
        container
            .hooks
            .iter_mut()
            .for_each(|hooks| self.hooks(hooks));
        text(&mut container.status_reason);
        text(&mut container.status_message);
        if let Some(linux) = &mut container.linux {
            self.path(&mut linux.cgroups_path);
            if let Some(profile) = &mut linux.seccomp_profile {
                self.path(&mut profile.localhost_ref);
            }
        }
        if let Some(image) = &mut container.image {
            self.replace("image", &mut image.name);
            self.replace("digest", &mut image.digest);
            self.replace("digest", &mut image.config_digest);
        }
    }

    fn namespace(&mut self, namespace: &mut String) {
        if !WELL_KNOWN_NAMESPACES.contains(&namespace.as_str()) {
            self.replace("namespace", namespace);
        }
    }

    fn mount(&mut self, mount: &mut Mount) {
        // Other types name no place of the host: proc, tmpfs.
        if mount.source.starts_with('/') {
            self.path(&mut mount.source);
        }
    }

    fn hooks(&mut self, hooks: &mut Hooks) {
        let Hooks {
            prestart,
            create_runtime,
            create_container,
            start_container,
            poststart,
            poststop,
        } = hooks;
        let lists = [
            prestart,
            create_runtime,
            create_container,
            start_container,
            poststart,
            poststop,
        ];
        for Hook {
            path, args, env, ..
        } in lists.into_iter().flatten()
        {
            self.path(path);
            args.iter_mut().for_each(text);
            env.iter_mut().for_each(variable);
        }
    }

    /// A label's or an annotation's: what was replaced elsewhere is replaced by the same here.
    fn value(&mut self, value: &mut String) {
        let known = WELL_KNOWN_VALUES
            .iter()
            .any(|known| value.eq_ignore_ascii_case(known))
            || WELL_KNOWN_NAMESPACES.contains(&value.as_str())
            || WELL_KNOWN_CONTAINERS.contains(&value.as_str());
        match self.replaced.get(value.as_str()) {
            Some(replacement) => value.clone_from(replacement),
            None if known => {}
            None => text(value),
        }
    }

    fn path(&mut self, path: &mut String) {
        let mut name = std::mem::take(path);
        self.replace("path", &mut name);
        if !name.is_empty() {
            *path = format!("/{name}");
        }
    }

    fn replace(&mut self, kind: &'static str, name: &mut String) {
        if name.is_empty() {
            return;
        }
        let counts = &mut self.counts;
        let replacement = self.replaced.entry(name.clone()).or_insert_with(|| {
            let count = counts.entry(kind).or_default();
            *count += 1;
            format!("{kind}-{count}")
        });
        name.clone_from(replacement);
    }
}

fn text(text: &mut String) {
    if !text.is_empty() {
        REDACTED.clone_into(text);
    }
}

/// `KEY=redacted`.
fn variable(item: &mut String) {
    *item = match item.split_once('=') {
        Some((key, value)) if !value.is_empty() => format!("{key}={REDACTED}"),
        Some(_) => return,
        None => REDACTED.to_owned(),
    };
}
