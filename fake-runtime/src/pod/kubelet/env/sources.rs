//! Where the values of variables come from that a container does not have of itself.

use std::collections::BTreeMap;

use crate::pod::kubelet::{Identity, Kubelet, amounts, in_order};
use crate::pod::manifest::{Container, EnvFrom, EnvSource, KeyRef, Pod, ResourceFieldRef};
use crate::pod::quantity::Quantity;

/// What a container's references can lead to.
pub(super) struct Sources<'a> {
    pub(super) kubelet: &'a Kubelet<'a>,
    pub(super) pod: &'a Pod,
    pub(super) identity: &'a Identity,
    pub(super) container: &'a Container,
    /// What nobody told.
    pub(super) notes: &'a mut Vec<String>,
}

/// A ConfigMap or a Secret.
#[derive(Clone, Copy)]
enum Kind {
    ConfigMap,
    Secret,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }
}

impl<'a> Sources<'a> {
    /// The entries of a whole object.
    pub(super) fn all_of(&mut self, from: &EnvFrom) -> Vec<(String, String)> {
        let references = [
            (Kind::ConfigMap, &from.config_map_ref),
            (Kind::Secret, &from.secret_ref),
        ];
        let mut all = Vec::new();
        for (kind, reference) in references {
            let Some(reference) = reference else {
                continue;
            };
            match self.entries(kind, &reference.name) {
                Some(entries) => all.extend(entries.clone()),
                None if reference.optional => {}
                None => self.note(format!(
                    "the keys of {} {:?} are not known, and its variables are missing here: give it with --with",
                    kind.name(),
                    reference.name
                )),
            }
        }
        all
    }

    /// A single value; nothing where it need not be there and is not.
    pub(super) fn value(&mut self, source: &EnvSource) -> Option<String> {
        if let Some(field) = &source.field_ref {
            let path = &field.field_path;
            return Some(self.field(path).unwrap_or_else(|| format!("<{path}>")));
        }
        if let Some(field) = &source.resource_field_ref {
            return Some(self.resource(field));
        }
        if let Some(file) = &source.file_key_ref {
            let place = format!("{}/{}/{}", file.volume_name, file.path, file.key);
            self.note(format!(
                "the value of {place} is read from a file when the container is made"
            ));
            return Some(format!("<file {place}>"));
        }
        if let Some(reference) = &source.config_map_key_ref {
            return self.entry(Kind::ConfigMap, reference);
        }
        match &source.secret_key_ref {
            Some(reference) => self.entry(Kind::Secret, reference),
            None => Some(String::new()),
        }
    }

    fn note(&mut self, what: String) {
        self.notes.push(format!("{}: {what}", self.container.name));
    }

    fn entries(&self, kind: Kind, name: &str) -> Option<&'a BTreeMap<String, String>> {
        let (cluster, namespace) = (self.kubelet.cluster, &self.identity.namespace);
        match kind {
            Kind::ConfigMap => cluster.config_map(namespace, name),
            Kind::Secret => cluster.secret(namespace, name),
        }
    }

    fn entry(&mut self, kind: Kind, reference: &KeyRef) -> Option<String> {
        let KeyRef {
            name,
            key,
            optional,
        } = reference;
        let entries = self.entries(kind, name);
        if let Some(value) = entries.and_then(|entries| entries.get(key)) {
            return Some(value.clone());
        }
        if *optional {
            return None;
        }
        let kind = kind.name();
        self.note(match entries {
            None => format!("{kind} {name:?} is not known: give it with --with"),
            Some(_) => format!("{kind} {name:?} has no key {key:?}: the container would not start"),
        });
        Some(format!("<{kind} {name}/{key}>"))
    }

    fn field(&self, path: &str) -> Option<String> {
        let keyed = |prefix: &str| {
            path.strip_prefix(prefix)?
                .strip_prefix("['")?
                .strip_suffix("']")
        };
        let Self { pod, identity, .. } = self;
        let metadata = &pod.metadata;
        if let Some(key) = keyed("metadata.labels") {
            return Some(metadata.labels.get(key).cloned().unwrap_or_default());
        }
        if let Some(key) = keyed("metadata.annotations") {
            return Some(metadata.annotations.get(key).cloned().unwrap_or_default());
        }
        let node = self.kubelet.node;
        let host = pod.status.host_ip.as_ref().or(node.address.as_ref());
        match path {
            "metadata.name" => Some(identity.name.clone()),
            "metadata.namespace" => Some(identity.namespace.clone()),
            "metadata.uid" => Some(identity.uid.clone()),
            "spec.nodeName" => Some(match pod.spec.node_name.as_str() {
                "" => node.name.clone(),
                name => name.to_owned(),
            }),
            "spec.serviceAccountName" => Some(account(pod).to_owned()),
            "status.hostIP" | "status.hostIPs" => host.cloned(),
            "status.podIP" | "status.podIPs" if pod.spec.host_network => host.cloned(),
            "status.podIP" | "status.podIPs" => pod.status.pod_ip.clone(),
            _ => None,
        }
    }

    fn resource(&self, field: &ResourceFieldRef) -> String {
        let mut all = in_order(self.pod);
        let named = all.find(|it| it.name == field.container_name);
        let container = named.unwrap_or(self.container);
        let Some((which, name)) = field.resource.split_once('.') else {
            return format!("<{}>", field.resource);
        };
        let amount = match which {
            "limits" => amounts::own_limit(container, name)
                .filter(|limit| *limit > Quantity::default())
                .or_else(|| self.kubelet.node.allocatable.get(name).copied()),
            _ => amounts::own_request(container, name),
        };
        amount.unwrap_or_default().per(field.divisor).to_string()
    }
}

/// The service account of a Pod.
pub(in crate::pod::kubelet) fn account(pod: &Pod) -> &str {
    let spec = &pod.spec;
    let names = [&spec.service_account_name, &spec.service_account];
    let named = names.into_iter().find(|name| !name.is_empty());
    named.map_or("default", String::as_str)
}
