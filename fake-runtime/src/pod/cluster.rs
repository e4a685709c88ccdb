//! The objects of a cluster that bear on what its Pods become.

mod service;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::manifest::{HostPath, Metadata, Node};
use super::quantity::Quantity;

pub use service::{Port, Service};

/// ConfigMaps and the like, as far as they are known.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    config_maps: Objects<BTreeMap<String, String>>,
    secrets: Objects<BTreeMap<String, String>>,
    services: Objects<Service>,
    volumes: Objects<Volume>,
    claims: Objects<Claim>,
    accounts: Objects<Account>,
    runtime_classes: Objects<RuntimeClass>,
}

/// By namespace and name. What is in no namespace has an empty one.
type Objects<T> = BTreeMap<(String, String), T>;

/// A PersistentVolume.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// A path of the node.
    pub host_path: Option<HostPath>,
    /// A path of the node, with what belongs to it in Kubernetes.
    pub local: Option<HostPath>,
    /// An export of an NFS server.
    pub nfs: Option<serde_json::Value>,
    /// Storage of a driver.
    pub csi: Option<serde_json::Value>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Claim {
    volume_name: Option<String>,
}

/// A ServiceAccount.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Account {
    automount_service_account_token: Option<bool>,
}

/// A RuntimeClass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct RuntimeClass {
    /// What the runtime knows it by.
    pub handler: String,
    /// What its Pods need besides their containers.
    pub overhead: Option<Overhead>,
}

/// What the Pods of a RuntimeClass need besides their containers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Overhead {
    /// By resource.
    pub pod_fixed: BTreeMap<String, Quantity>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Data {
    data: Option<BTreeMap<String, Option<String>>>,
    string_data: Option<BTreeMap<String, Option<String>>>,
}

/// What has its fields below `spec`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Spec<T: Default> {
    spec: Option<T>,
}

impl Cluster {
    /// Takes an object in, if it is of a kind that bears on Pods.
    pub(super) fn add(&mut self, kind: &str, document: &Node) -> bool {
        match kind {
            "ConfigMap" => insert(&mut self.config_maps, document, true, Data::of_config_map),
            "Secret" => insert(&mut self.secrets, document, true, Data::of_secret),
            "Service" => insert(&mut self.services, document, true, spec),
            "PersistentVolume" => insert(&mut self.volumes, document, false, spec),
            "PersistentVolumeClaim" => insert(&mut self.claims, document, true, spec),
            "ServiceAccount" => insert(&mut self.accounts, document, true, |it| it),
            "RuntimeClass" => insert(&mut self.runtime_classes, document, false, |it| it),
            _ => return false,
        }
        true
    }

    /// Takes the objects of another in, which replace those of the same names.
    pub fn extend(&mut self, other: Self) {
        let Self {
            config_maps,
            secrets,
            services,
            volumes,
            claims,
            accounts,
            runtime_classes,
        } = other;
        self.config_maps.extend(config_maps);
        self.secrets.extend(secrets);
        self.services.extend(services);
        self.volumes.extend(volumes);
        self.claims.extend(claims);
        self.accounts.extend(accounts);
        self.runtime_classes.extend(runtime_classes);
    }

    /// What people call them: `Service/web`.
    pub(super) fn names(&self) -> Vec<String> {
        fn of<T>(kind: &str, objects: &Objects<T>) -> Vec<String> {
            let name = |(_, name): &(String, String)| match name.as_str() {
                "" => kind.to_owned(),
                name => format!("{kind}/{name}"),
            };
            objects.keys().map(name).collect()
        }
        [
            of("ConfigMap", &self.config_maps),
            of("Secret", &self.secrets),
            of("Service", &self.services),
            of("PersistentVolume", &self.volumes),
            of("PersistentVolumeClaim", &self.claims),
            of("ServiceAccount", &self.accounts),
            of("RuntimeClass", &self.runtime_classes),
        ]
        .concat()
    }

    /// The entries of a ConfigMap.
    #[must_use]
    pub fn config_map(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, String>> {
        self.config_maps.get(&key(namespace, name))
    }

    /// The entries of a Secret.
    #[must_use]
    pub fn secret(&self, namespace: &str, name: &str) -> Option<&BTreeMap<String, String>> {
        self.secrets.get(&key(namespace, name))
    }

    /// The Services of a namespace, by name.
    pub fn services<'a>(
        &'a self,
        namespace: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Service)> {
        let all = self.services.iter();
        all.filter(move |((of, _), _)| of == namespace)
            .map(|((_, name), service)| (name.as_str(), service))
    }

    /// The PersistentVolume behind a claim, and its name; the name may be all that is known.
    #[must_use]
    pub fn volume_of(&self, namespace: &str, claim: &str) -> Option<(&str, Option<&Volume>)> {
        let name = self
            .claims
            .get(&key(namespace, claim))?
            .volume_name
            .as_deref();
        let name = name.filter(|name| !name.is_empty())?;
        Some((name, self.volumes.get(&key("", name))))
    }

    /// Whether a ServiceAccount has its token mounted, where it says so.
    #[must_use]
    pub fn mounts_token(&self, namespace: &str, account: &str) -> Option<bool> {
        let account = self.accounts.get(&key(namespace, account))?;
        account.automount_service_account_token
    }

    /// A RuntimeClass.
    #[must_use]
    pub fn runtime_class(&self, name: &str) -> Option<&RuntimeClass> {
        self.runtime_classes.get(&key("", name))
    }
}

fn key(namespace: &str, name: &str) -> (String, String) {
    (namespace.to_owned(), name.to_owned())
}

/// An object that is not what it should be is as if it were not there: the checks of fields tell of it.
fn insert<T, R>(objects: &mut Objects<T>, document: &Node, namespaced: bool, read: fn(R) -> T)
where
    R: serde::de::DeserializeOwned,
{
    let metadata = document.get("metadata").map(Node::read::<Metadata>);
    let metadata = metadata.and_then(Result::ok).unwrap_or_default();
    let namespace = if namespaced { metadata.namespace() } else { "" };
    if let Ok(object) = document.read() {
        objects.insert(key(namespace, &metadata.name), read(object));
    }
}

fn spec<T: Default>(object: Spec<T>) -> T {
    object.spec.unwrap_or_default()
}

impl Data {
    fn of_config_map(self) -> BTreeMap<String, String> {
        let entries = self.data.unwrap_or_default().into_iter();
        entries
            .map(|(key, value)| (key, value.unwrap_or_default()))
            .collect()
    }

    /// The API server writes what stands in `stringData` into `data`.
    fn of_secret(self) -> BTreeMap<String, String> {
        let decoded = |(key, value): (String, Option<String>)| {
            let bytes = STANDARD.decode(value.unwrap_or_default()).ok()?;
            Some((key, String::from_utf8_lossy(&bytes).into_owned()))
        };
        let data = self.data.unwrap_or_default().into_iter();
        let mut entries: BTreeMap<_, _> = data.filter_map(decoded).collect();
        let texts = self.string_data.unwrap_or_default().into_iter();
        entries.extend(texts.map(|(key, value)| (key, value.unwrap_or_default())));
        entries
    }
}

#[cfg(test)]
mod tests {
    use crate::pod::manifest::Manifest;

    #[test]
    fn a_secret_has_what_its_data_encode_and_its_string_data_say() {
        let text = "kind: Secret
metadata: {name: s, namespace: ns}
data: {a: b25l, b: b25l}
stringData: {b: two}
";
        let cluster = Manifest::parse(text).unwrap().cluster;
        let entries = cluster.secret("ns", "s").unwrap();
        assert_eq!(
            (entries["a"].as_str(), entries["b"].as_str()),
            ("one", "two")
        );
        assert_eq!(cluster.secret("default", "s"), None);
    }

    #[test]
    fn a_claim_leads_to_its_volume() {
        let text = "kind: PersistentVolume
metadata: {name: v}
spec: {hostPath: {path: /data}}
---
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {volumeName: v}
";
        let cluster = Manifest::parse(text).unwrap().cluster;
        let (name, volume) = cluster.volume_of("default", "c").unwrap();
        let path = &volume.unwrap().host_path.as_ref().unwrap().path;
        assert_eq!((name, path.as_str()), ("v", "/data"));
    }
}
