//! By what a Pod is known.

use super::told::{Kubelet, Source};
use crate::pod::identifier::uid;
use crate::pod::manifest::{Pod, generated};

/// Name, namespace and uid.
pub(super) struct Identity {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
}

impl Identity {
    pub(super) fn of(pod: &Pod, kubelet: &Kubelet<'_>) -> Self {
        let metadata = &pod.metadata;
        let mut name = match (metadata.name.as_str(), metadata.generate_name.as_str()) {
            ("", "") => "pod".to_owned(),
            ("", prefix) => generated(prefix),
            (name, _) => name.to_owned(),
        };
        let namespace = metadata.namespace().to_owned();
        let from_file = kubelet.source == Source::File;
        if from_file {
            name = format!("{name}-{}", kubelet.node.name);
        }
        let uid = match metadata.uid.as_str() {
            // Of a file, a hash of it.
            "" if from_file => uid(&namespace, &name).replace('-', ""),
            "" => uid(&namespace, &name),
            uid => uid.to_owned(),
        };
        Self {
            name,
            namespace,
            uid,
        }
    }

    pub(super) fn labels(&self) -> [(String, String); 3] {
        [
            ("name", &self.name),
            ("namespace", &self.namespace),
            ("uid", &self.uid),
        ]
        .map(|(key, value)| (format!("io.kubernetes.pod.{key}"), value.clone()))
    }
}
