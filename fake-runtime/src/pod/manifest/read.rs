//! Reading manifests: YAML or JSON, one document or several.

use std::io;
use std::path::{Path, PathBuf};

use crate::one_line::on_one_line;
use serde::Deserialize;

use super::Pod;

/// Why a manifest could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the file system said.
        source: io::Error,
    },
    /// It is not YAML, or a field is not what it should be.
    #[error("{}", on_one_line(.0))]
    Yaml(String),
    /// Something else than a Pod.
    #[error("kind {0:?} is no Pod: a runtime only ever sees Pods")]
    NotAPod(String),
    /// No document at all.
    #[error("no Pod in it")]
    Nothing,
    /// A Pod without containers.
    #[error("pod {0:?} has no containers")]
    NoContainers(String),
}

/// Reads every Pod of a manifest file.
///
/// # Errors
///
/// As [`parse`], and what the file system says.
pub fn read(path: &Path) -> Result<Vec<Pod>, ManifestError> {
    let text = std::fs::read_to_string(path).map_err(|source| ManifestError::Io {
        path: path.to_owned(),
        source,
    })?;
    parse(&text)
}

/// Reads every Pod of a manifest: YAML, of which JSON is a part, with any number of documents.
///
/// # Errors
///
/// A document that is no Pod, or none at all.
pub fn parse(text: &str) -> Result<Vec<Pod>, ManifestError> {
    // Twice, because what is not a Pod need not have a Pod's fields.
    for Kind { kind } in documents(text)? {
        if kind != "Pod" {
            return Err(ManifestError::NotAPod(kind));
        }
    }
    let pods: Vec<Pod> = documents(text)?;
    if pods.is_empty() {
        return Err(ManifestError::Nothing);
    }
    match pods.iter().find(|pod| pod.spec.containers.is_empty()) {
        Some(pod) => Err(ManifestError::NoContainers(pod.metadata.name.clone())),
        None => Ok(pods),
    }
}

#[derive(Deserialize)]
struct Kind {
    kind: String,
}

fn documents<T: serde::de::DeserializeOwned>(text: &str) -> Result<Vec<T>, ManifestError> {
    // Without the excerpt that the message would carry otherwise, over several lines.
    serde_saphyr::from_multiple(text)
        .map_err(|error| ManifestError::Yaml(error.without_snippet().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "
kind: Pod
apiVersion: v1
metadata:
  name: a
  labels:
spec:
  hostPID: true
  containers:
  - name: main
    image: busybox
    resources: {limits: {nvidia.com/gpu: 1, cpu: 500m}}
    env: null
    livenessProbe: {exec: {command: [/bin/true]}}
";

    #[test]
    fn several_documents_and_null_fields_are_read() {
        let pods = parse(&format!("{POD}---\n{POD}")).unwrap();
        assert_eq!(pods.len(), 2);
        assert!(pods[0].spec.host_pid);
        let limits = &pods[0].spec.containers[0].resources.limits;
        assert_eq!(limits["nvidia.com/gpu"].units(), 1);
        assert_eq!(limits["cpu"].milli(), 500);
    }

    #[test]
    fn json_is_read_too() {
        let pods = parse(
            r#"{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "b"}]}}"#,
        );
        assert_eq!(pods.unwrap()[0].spec.containers[0].name, "b");
    }

    #[test]
    fn what_is_wrong_is_said_in_one_line() {
        for (text, said) in [
            (
                "kind: Service\nspec: {}",
                "kind \"Service\" is no Pod: a runtime only ever sees Pods",
            ),
            ("", "no Pod in it"),
            (
                "kind: Pod\nmetadata: {name: x}\nspec: {}",
                "pod \"x\" has no containers",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), said);
        }
        for text in [
            "kind: Pod\nspec: [",
            "kind: Pod\nspec: {containers: 3}",
            "spec: {}",
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains("line") && !said.contains('\n'), "{said}");
        }
    }
}
