//! A file of requests: a recording, plain or gzipped, or a request.

use std::path::Path;

use fake_runtime::jsonl;
use fake_runtime::pod::Simulation;
use fake_runtime::requests::{Requests, in_text};
use serde_json::json;

use crate::assert_one_line;

/// What stands in a file that is to be replayed.
pub fn recording(data: &[u8]) {
    let path = Path::new("recording");
    let text = match jsonl::text_of(path, data) {
        Ok(text) => text,
        Err(error) => return assert_one_line(error),
    };
    let read = match in_text(path, &text, &Simulation::default()) {
        Ok(read) => read,
        Err(error) => return assert_one_line(error),
    };
    assert!(!read.requests.is_empty());
    let rows = read.requests.iter().map(|request| {
        let row = json!({"rpc": "CreateContainer", "request": request});
        row.to_string()
    });
    let recorded = rows.collect::<Vec<_>>().join("\n");
    let Requests { requests, .. } = in_text(path, &recorded, &Simulation::default())
        .expect("a recording of what was read can be read");
    assert_eq!(requests, read.requests);
}
