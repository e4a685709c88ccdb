//! Reads the recordings of the workspace's `tests/`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use fake_runtime::host::Host;
use flate2::read::GzDecoder;
use serde_json::Value;

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests")
        .join(file)
}

/// The CDI specs, device numbers and propagation of the machine on which the rows were recorded.
pub(crate) fn host() -> Host {
    let text = fs::read_to_string(path("applied/host.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The rows of a gzipped file with one JSON object per line.
pub(crate) fn rows(file: &str) -> Vec<Value> {
    let lines = BufReader::new(GzDecoder::new(fs::File::open(path(file)).unwrap())).lines();
    lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

/// The gzipped files of a directory, in order of their names.
pub(crate) fn files(dir: &str) -> Vec<String> {
    let names = fs::read_dir(path(dir)).unwrap().map(|entry| {
        let name = entry.unwrap().file_name();
        format!("{dir}/{}", name.to_str().unwrap())
    });
    let mut files: Vec<_> = names.filter(|name| name.ends_with(".gz")).collect();
    files.sort();
    files
}
