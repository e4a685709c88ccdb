//! Files of CreateContainer requests, in any of the forms that people have: manifests, recordings, one request, what
//! NRI's logger plugin prints.

mod files;
mod logger;

use std::path::{Path, PathBuf};

use nri_proto::api::CreateContainerRequest;
use serde_json::Value;

use crate::jsonl::{self, JsonlError};
use crate::life::Step;
use crate::one_line::on_one_line;
use crate::pod::manifest::{Manifest, ManifestError, documents};
use crate::pod::{self, Asked, PodError, Simulation};
use crate::profile::Profile;
use crate::sent;

pub use files::{STDIN, read_all};

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
    /// A Pod of it would never be asked about.
    #[error("{path}: {source}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Who refuses it, and why.
        source: PodError,
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
    /// Of each, what its devices cannot be known for.
    pub unknown: Vec<Option<String>>,
    /// What a manifest does not tell, or tells in vain, a line each.
    pub notes: Vec<String>,
    /// Every turn of the pods' lives, where it is a recording of more than the requests.
    pub life: Vec<Step>,
}

impl Requests {
    /// What happens: the life that was recorded, or every container created.
    #[must_use]
    pub fn steps(self) -> Vec<Step> {
        if self.life.is_empty() {
            let create = |request| Step::Create(Box::new(request));
            return self.requests.into_iter().map(create).collect();
        }
        self.life
    }
}

/// What a file holds.
enum Content {
    Manifest(Box<Manifest>),
    Requests {
        /// The recorded containerd.
        profile: Option<&'static Profile>,
        requests: Vec<CreateContainerRequest>,
        /// More than the requests, or nothing.
        life: Vec<Step>,
    },
}

/// Reads the requests of a file, in order. What a manifest leaves open is for `simulation` to say.
///
/// A file of JSON lines, plain or gzipped, is a recording: rows of other calls than CreateContainer are skipped. A
/// document with a pod or a container is a request. What NRI's logger plugin prints is told by its lines. Anything else
/// is a manifest.
///
/// # Errors
///
/// The file cannot be read, is none of these, or has no request in it.
pub fn read(path: &Path, simulation: &Simulation) -> Result<Requests, RequestsError> {
    in_text(path, &files::text(path)?, simulation)
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
    content(path, text)?.requests(path, simulation)
}

/// The requests in a document that was read from `path`: a manifest, or a request.
///
/// # Errors
///
/// It is neither.
pub fn in_document(
    path: &Path,
    document: &Value,
    simulation: &Simulation,
) -> Result<Vec<CreateContainerRequest>, RequestsError> {
    Ok(in_text(path, &document.to_string(), simulation)?.requests)
}

fn content(path: &Path, text: &str) -> Result<Content, RequestsError> {
    let rows = match jsonl::rows::<Value>(path, text) {
        Ok(rows) => rows,
        // A document over several lines.
        Err(_) => match serde_json::from_str(text) {
            Ok(document) => vec![document],
            Err(_) => return in_yaml(path, text),
        },
    };
    // An object a line, as `jq -c` prints them.
    if !rows.is_empty() && rows.iter().all(|row| row.get("kind").is_some()) {
        return match &rows[..] {
            [_] => of_manifest(path, text),
            _ => of_manifest(path, &text.replace('\n', "\n---\n")),
        };
    }
    let mut requests = Vec::new();
    for row in rows.iter().filter_map(request_in) {
        requests.push(of_request(path, row)?);
    }
    if requests.is_empty() {
        return Err(RequestsError::Nothing(path.to_owned()));
    }
    let profile = rows.iter().find_map(sent::runtime);
    let life: Result<Vec<_>, _> = rows.iter().map(Step::of_row).collect();
    let life = life.map_err(|source| RequestsError::Request {
        path: path.to_owned(),
        source,
    })?;
    let mut life: Vec<Step> = life.into_iter().flatten().collect();
    if life.len() <= requests.len() {
        life.clear();
    }
    Ok(Content::Requests {
        profile,
        requests,
        life,
    })
}

/// A manifest, or requests as YAML.
fn in_yaml(path: &Path, text: &str) -> Result<Content, RequestsError> {
    let logged = logger::requests(text);
    let documents = documents(logged.as_deref().unwrap_or(text)).unwrap_or_default();
    let is_request = |document: &Value| {
        document.get("kind").is_none()
            && (document.get("pod").is_some() || document.get("container").is_some())
    };
    let documents = documents.iter().map(|document| document.to_json());
    let documents: Vec<Value> = documents.filter(is_request).collect();
    if documents.is_empty() {
        return of_manifest(path, text);
    }
    let requests = documents.iter().map(|document| of_request(path, document));
    Ok(Content::Requests {
        profile: None,
        life: Vec::new(),
        requests: requests.collect::<Result<_, _>>()?,
    })
}

fn of_manifest(path: &Path, text: &str) -> Result<Content, RequestsError> {
    let manifest = Manifest::parse(text);
    let manifest = manifest.map_err(|source| RequestsError::Manifest {
        path: path.to_owned(),
        source,
    })?;
    Ok(Content::Manifest(Box::new(manifest)))
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

impl Content {
    fn requests(self, path: &Path, simulation: &Simulation) -> Result<Requests, RequestsError> {
        match self {
            Self::Requests {
                profile,
                requests,
                life,
            } => Ok(Requests {
                profile: profile.unwrap_or(simulation.profile),
                unknown: vec![None; requests.len()],
                requests,
                notes: Vec::new(),
                life,
            }),
            Self::Manifest(manifest) => of_pods(path, *manifest, simulation),
        }
    }
}

fn of_pods(
    path: &Path,
    manifest: Manifest,
    simulation: &Simulation,
) -> Result<Requests, RequestsError> {
    let manifest = manifest.with_pods();
    let manifest = manifest.map_err(|source| RequestsError::Manifest {
        path: path.to_owned(),
        source,
    })?;
    let mut simulation = simulation.clone();
    simulation.cluster.extend(manifest.cluster);
    let mut all = Requests {
        profile: simulation.profile,
        requests: Vec::new(),
        unknown: Vec::new(),
        notes: manifest.notes,
        life: Vec::new(),
    };
    if !manifest.passed_over.is_empty() {
        let names = manifest.passed_over.join(", ");
        all.notes.push(format!("passed over: {names}"));
    }
    for pod in &manifest.pods {
        for image in pod.images() {
            simulation.node.images.find_beside(path, image);
        }
        let asked = pod::ask(pod, &simulation);
        let Asked {
            requests,
            unknown,
            notes,
        } = asked.map_err(|source| RequestsError::Refused {
            path: path.to_owned(),
            source,
        })?;
        all.requests.extend(requests);
        all.unknown.extend(unknown);
        let name = &pod.metadata.name;
        all.notes
            .extend(notes.iter().map(|note| format!("{name}/{note}")));
    }
    Ok(all)
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
        let request = r#"{"pod": {"namespace": "ns", "name": "p"}, "container": {"name": "c"}}"#;
        let pretty = request.replace(", ", ",\n");
        let row = format!(r#"{{"rpc": "CreateContainer", "request": {request}}}"#);
        let recording = format!("{{\"rpc\": \"Configure\", \"request\": {{}}}}\n{row}\n{row}\n");
        let pod =
            "kind: Pod\nmetadata: {namespace: ns, name: p}\nspec: {containers: [{name: c}]}\n";
        let json_pod = r#"{"kind":"Pod","metadata":{"namespace":"ns","name":"p"},"spec":{"containers":[{"name":"c"}]}}"#;
        for (text, count) in [
            (request, 1),
            (&pretty, 1),
            (&recording, 2),
            (&pretty.replace('"', ""), 1),
            (pod, 1),
            (json_pod, 1),
        ] {
            assert_eq!(
                read_text(text),
                Ok(vec!["ns/p/c".to_owned(); count]),
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
            Err("FILE: no Pod and no Pod template in it, only Deployment".to_owned())
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
