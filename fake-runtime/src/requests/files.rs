//! Several files at once: directories, stdin, and objects of one that bear on the Pods of another.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Content, Requests, RequestsError, content};
use crate::jsonl::{self, JsonlError};
use crate::pod::Simulation;

/// Stands for what comes in on stdin.
pub const STDIN: &str = "-";

/// What people call files of requests and manifests.
const EXTENSIONS: [&str; 5] = ["yaml", "yml", "json", "jsonl", "gz"];

pub(super) fn text(path: &Path) -> Result<String, JsonlError> {
    if path == Path::new(STDIN) {
        jsonl::text_of(Path::new("stdin"), io::stdin())
    } else {
        jsonl::text(path)
    }
}

/// Reads the requests of several files, of those in a directory in the order of their names. Objects that any of them
/// holds bear on the Pods of all. A file of a directory that has no Pod in it is passed over.
///
/// # Errors
///
/// A file cannot be read, or none of them has a request in it.
pub fn read_all(
    paths: &[PathBuf],
    simulation: &Simulation,
) -> Result<Vec<(PathBuf, Requests)>, RequestsError> {
    let mut simulation = simulation.clone();
    let mut contents = Vec::new();
    for path in paths {
        let listed = list(path)?;
        let is_dir = listed.is_some();
        for path in listed.unwrap_or_else(|| vec![path.clone()]) {
            let content = content(&path, &text(&path)?)?;
            if let Content::Manifest(manifest) = &content {
                simulation.cluster.extend(manifest.cluster.clone());
            }
            contents.push((path, content, is_dir));
        }
    }
    let alone = contents.len() == 1;
    let mut all = Vec::new();
    for (path, content, is_dir) in contents {
        let optional = is_dir || !alone;
        match &content {
            Content::Manifest(manifest) if optional && manifest.pods.is_empty() => {}
            _ => {
                let requests = content.requests(&path, &simulation)?;
                all.push((path, requests));
            }
        }
    }
    if all.is_empty() {
        let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        return Err(RequestsError::Nothing(paths.join(", ").into()));
    }
    Ok(all)
}

/// The files of a directory; nothing where the path is none.
fn list(path: &Path) -> Result<Option<Vec<PathBuf>>, JsonlError> {
    if !path.is_dir() {
        return Ok(None);
    }
    let entries = fs::read_dir(path).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<_>>>()
    });
    let mut paths = entries.map_err(|source| JsonlError::Io {
        path: path.to_owned(),
        source,
    })?;
    paths.retain(|path| {
        let extension = path.extension().and_then(|it| it.to_str());
        extension.is_some_and(|it| EXTENSIONS.contains(&it)) && path.is_file()
    });
    paths.sort();
    Ok(Some(paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_one_file_bear_on_the_pods_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let from = "envFrom: [{configMapRef: {name: c}}]";
        write(
            "a.yaml",
            &format!(
                "{{kind: Pod, metadata: {{name: p}}, spec: {{containers: [{{name: m, {from}}}]}}}}"
            ),
        );
        write(
            "b.yml",
            "{kind: ConfigMap, metadata: {name: c}, data: {A: one}}",
        );
        write("c.txt", "nothing of ours");
        let read = read_all(&[dir.path().to_owned()], &Simulation::default()).unwrap();
        let [(path, requests)] = &read[..] else {
            panic!("{} files have Pods", read.len())
        };
        assert!(path.ends_with("a.yaml"));
        let env = &requests.requests[0].container.as_ref().unwrap().env;
        assert!(env.contains(&"A=one".to_owned()), "{env:?}");
    }

    #[test]
    fn a_directory_without_a_pod_is_told_so() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("s.yaml"), "{kind: Service}").unwrap();
        let error = read_all(&[dir.path().to_owned()], &Simulation::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("no CreateContainer request in it"),
            "{error}"
        );
    }
}
