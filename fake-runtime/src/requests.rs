//! Files of CreateContainer requests, in any of the forms that people have: Pod manifests, recordings, one request.

use std::path::{Path, PathBuf};

use crate::one_line::on_one_line;
use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

use crate::create::CreateError;
use crate::jsonl::{self, JsonlError};
use crate::pod::manifest::{self, ManifestError};
use crate::pod::{self, Simulation};
use crate::profile::Profile;
use crate::sent;

/// Why a file gives no requests.
#[derive(Debug, thiserror::Error)]
pub enum RequestsError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] JsonlError),
    /// It is JSON, and neither a recording nor a request.
    #[error(
        "{path}: neither a Pod, a recording, nor a CreateContainer request: {}",
        on_one_line(&source.to_string())
    )]
    Request {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// It is no manifest of Pods.
    #[error("{path}: {source}")]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ManifestError,
    },
    /// A Pod of it would never be asked about: containerd refuses it first.
    #[error("{path}: {source}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// containerd's reason.
        source: CreateError,
    },
    /// There is no CreateContainer request in it.
    #[error("{0}: no CreateContainer request in it")]
    Nothing(PathBuf),
}

/// The requests of a file.
#[derive(Clone, Debug)]
pub struct Requests {
    /// The runtime that makes them: the recorded one, where it is known, otherwise that of the simulation.
    pub profile: &'static Profile,
    /// In order.
    pub requests: Vec<CreateContainerRequest>,
}

/// Reads the requests of a file, in order. What a Pod manifest leaves open is for `simulation` to say.
///
/// A file of JSON lines, plain or gzipped, is a recording: rows of other calls than CreateContainer are skipped. A
/// JSON document with a pod or a container is a request. Anything else is a manifest of one or several Pods.
///
/// # Errors
///
/// The file cannot be read, is none of these, or has no request in it.
pub fn read(path: &Path, simulation: &Simulation) -> Result<Requests, RequestsError> {
    in_text(path, &jsonl::text(path)?, simulation)
}

/// The requests in the text that stands in `path`.
///
/// # Errors
///
/// As [`read`].
pub fn in_text(
    path: &Path,
    text: &str,
    simulation: &Simulation,
) -> Result<Requests, RequestsError> {
    let rows = match jsonl::rows::<Value>(path, text) {
        Ok(rows) => rows,
        // A document over several lines.
        Err(_) => match serde_json::from_str(text) {
            Ok(document) => vec![document],
            Err(_) => return of_manifest(path, text, simulation),
        },
    };
    if let [document] = &rows[..] {
        let requests = in_document(path, document, simulation)?;
        let profile = simulation.profile;
        return Ok(Requests { profile, requests });
    }
    let mut requests = Vec::new();
    for row in rows.iter().filter_map(request_in) {
        requests.push(of_request(path, row)?);
    }
    if requests.is_empty() {
        return Err(RequestsError::Nothing(path.to_owned()));
    }
    let profile = rows
        .iter()
        .find_map(sent::runtime)
        .unwrap_or(simulation.profile);
    Ok(Requests { profile, requests })
}

/// The requests in a document that was read from `path`: a Pod, or a request.
///
/// # Errors
///
/// It is neither.
pub fn in_document(
    path: &Path,
    document: &Value,
    simulation: &Simulation,
) -> Result<Vec<CreateContainerRequest>, RequestsError> {
    if document.get("kind").is_some() {
        return Ok(of_manifest(path, &document.to_string(), simulation)?.requests);
    }
    match request_in(document) {
        Some(request) => Ok(vec![of_request(path, request)?]),
        None => Err(RequestsError::Nothing(path.to_owned())),
    }
}

fn of_request(path: &Path, request: &Value) -> Result<CreateContainerRequest, RequestsError> {
    serde_json::from_value(request.clone()).map_err(|source| RequestsError::Request {
        path: path.to_owned(),
        source,
    })
}

/// The request in a row of a recording, or the row itself where it is one.
fn request_in(row: &Value) -> Option<&Value> {
    match (row.get("rpc"), row.get("request")) {
        (Some(rpc), request) => request.filter(|_| rpc == "CreateContainer"),
        (None, Some(request)) => Some(request),
        (None, None) => Some(row),
    }
}

fn of_manifest(
    path: &Path,
    text: &str,
    simulation: &Simulation,
) -> Result<Requests, RequestsError> {
    let pods = manifest::parse(text).map_err(|source| RequestsError::Manifest {
        path: path.to_owned(),
        source,
    })?;
    let mut requests = Vec::new();
    for pod in &pods {
        let of_pod = pod::requests(pod, simulation);
        requests.extend(of_pod.map_err(|source| RequestsError::Refused {
            path: path.to_owned(),
            source,
        })?);
    }
    let profile = simulation.profile;
    Ok(Requests { profile, requests })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::create::name_of;

    use super::*;

    fn read_text(text: &str) -> Result<Vec<String>, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, text).unwrap();
        let requests = read(&path, &Simulation::default());
        let requests = requests.map_err(|error| {
            error
                .to_string()
                .replace(&path.display().to_string(), "FILE")
        })?;
        Ok(requests.requests.iter().map(name_of).collect())
    }

    #[test]
    fn every_form_is_told_by_what_is_in_it() {
        let request = r#"{"pod": {"namespace": "n", "name": "p"}, "container": {"name": "c"}}"#;
        let pretty = request.replace(", ", ",\n");
        let row = format!(r#"{{"rpc": "CreateContainer", "request": {request}}}"#);
        let recording = format!("{{\"rpc\": \"Configure\", \"request\": {{}}}}\n{row}\n{row}\n");
        let pod = "kind: Pod\nmetadata: {namespace: n, name: p}\nspec: {containers: [{name: c}]}\n";
        let json_pod = r#"{"kind":"Pod","metadata":{"namespace":"n","name":"p"},"spec":{"containers":[{"name":"c"}]}}"#;
        for (text, count) in [
            (request, 1),
            (&pretty, 1),
            (&recording, 2),
            (pod, 1),
            (json_pod, 1),
        ] {
            assert_eq!(
                read_text(text),
                Ok(vec!["n/p/c".to_owned(); count]),
                "{text}"
            );
        }
    }

    #[test]
    fn a_recording_is_replayed_as_the_runtime_that_it_is_of() {
        let request = r#"{"rpc": "CreateContainer", "request": {"pod": {"name": "p"}}}"#;
        for (name, version, profile) in [
            ("cri-o", "1.34.11", "cri-o-1.34"),
            ("containerd", "v2.3.4", "containerd-2.3"),
            ("somebody", "1.0.0", "containerd-2.1"),
        ] {
            let configure = format!(
                r#"{{"rpc": "Configure", "request": {{"runtime_name": "{name}", "runtime_version": "{version}"}}}}"#
            );
            let text = format!("{configure}\n{request}\n");
            let read = in_text(Path::new("file"), &text, &Simulation::default()).unwrap();
            assert_eq!(read.profile.to_string(), profile);
        }
    }

    #[test]
    fn a_gzipped_file_is_read_like_a_plain_one_whatever_is_in_it() {
        for text in [
            "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n",
            "{\n\"pod\": {}\n}",
            "{\"rpc\": \"CreateContainer\"}\n{\"rpc\"",
        ] {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(text.as_bytes()).unwrap();
            let read = |bytes: &[u8]| {
                let path = Path::new("file");
                let text = jsonl::text_of(path, bytes).unwrap();
                let requests = in_text(path, &text, &Simulation::default());
                requests.map(|it| it.requests).map_err(|it| it.to_string())
            };
            assert_eq!(
                read(&packed.finish().unwrap()),
                read(text.as_bytes()),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_none_of_them_is_refused_with_the_reason() {
        assert_eq!(
            read_text("kind: Deployment\n"),
            Err("FILE: kind \"Deployment\" is no Pod: a runtime only ever sees Pods".to_owned())
        );
        assert_eq!(
            read_text("{\"rpc\": \"Configure\", \"request\": {}}\n{\"rpc\": \"Synchronize\"}\n"),
            Err("FILE: no CreateContainer request in it".to_owned())
        );
        let error = read_text("{\"flags\": []}\n").unwrap_err();
        assert!(
            error.starts_with("FILE: neither a Pod, a recording, nor a "),
            "{error}"
        );
    }
}
