//! What was recorded of real runtimes, and the cases that are replayed against the plugin.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

/// The containerd versions that requests were recorded of.
pub(crate) const VERSIONS: [&str; 4] = ["1.7.24", "2.1.9", "2.2.7", "2.3.4"];

/// Each line of a file below the workspace's `tests/`.
pub(crate) fn lines(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests")
        .join(file);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    BufReader::new(GzDecoder::new(file))
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect()
}

/// The requests that one version sent by `rpc`.
pub(crate) fn requests(version: &str, rpc: &str) -> Vec<Value> {
    let mut lines = lines(&format!("recorded/requests-containerd-{version}.jsonl.gz"));
    lines.retain(|line| line["rpc"] == rpc);
    assert!(!lines.is_empty(), "{version} sent no {rpc}");
    lines
        .into_iter()
        .map(|mut line| line["request"].take())
        .collect()
}
