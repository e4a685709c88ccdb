//! What scripts read: JSON that its schema describes, and the examples of the documentation.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const TOOL: &str = env!("CARGO_BIN_EXE_fake-runtime");

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The lines that the tool prints about a plugin that changes nothing.
fn printed(args: &[&str]) -> Vec<Value> {
    let plugin = format!("{TOOL} floor {{socket}}");
    let output = Command::new(TOOL)
        .args(args)
        .args(["--output", "json", "--plugin", &plugin])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        !text.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Whether the value is as a schema says, of the words that ours uses.
fn is_valid(schema: &Value, root: &Value, value: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = root.pointer(reference.trim_start_matches('#')).unwrap();
        return is_valid(schema, root, value);
    }
    let is_of = |name: &Value| match name.as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("the type {other}"),
    };
    let types_fit = match &schema["type"] {
        Value::Null => true,
        Value::Array(types) => types.iter().any(is_of),
        one => is_of(one),
    };
    let enum_fits = schema["enum"]
        .as_array()
        .is_none_or(|all| all.contains(value));
    let required = schema["required"].as_array();
    let has = |key: &Value| value.get(key.as_str().unwrap()).is_some();
    let all_there = required.is_none_or(|all| all.iter().all(has));
    let properties = schema["properties"].as_object();
    let fields_fit = properties.is_none_or(|properties| {
        let mut fields = properties.iter();
        fields.all(|(key, schema)| value.get(key).is_none_or(|it| is_valid(schema, root, it)))
    });
    let items_fit = match (&schema["items"], value.as_array()) {
        (Value::Null, _) | (_, None) => true,
        (items, Some(values)) => values.iter().all(|it| is_valid(items, root, it)),
    };
    let one_fits = schema["oneOf"].as_array().is_none_or(|all| {
        let fitting = all.iter().filter(|it| is_valid(it, root, value));
        fitting.count() == 1
    });
    types_fit && enum_fits && all_there && fields_fit && items_fit && one_fits
}

#[test]
fn every_line_is_as_the_schema_says_and_none_of_its_fields_is_unknown() {
    let schema = std::fs::read_to_string(project("fake-runtime/output.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let life = project("tests/recorded/life-containerd-2.1.9.jsonl.gz");
    let mut lines = printed(&["check", "--only", "registration", "--only", "idempotence"]);
    lines.extend(printed(&["replay", &life.to_string_lossy()]));
    for kind in ["check", "container", "turn"] {
        let described = &schema["$defs"][kind];
        let of_kind: Vec<_> = lines
            .iter()
            .filter(|it| is_valid(described, &schema, it))
            .collect();
        assert!(!of_kind.is_empty(), "no {kind} among {lines:?}");
        for line in of_kind {
            for key in line.as_object().unwrap().keys() {
                assert!(
                    described["properties"].get(key).is_some(),
                    "{key} of {kind}"
                );
            }
        }
    }
    for line in &lines {
        assert!(is_valid(&schema, &schema, line), "{line}");
    }
    assert!(!is_valid(
        &schema,
        &schema,
        &serde_json::json!({ "check": "x" })
    ));
}

#[test]
fn the_example_in_python_passes_its_own_tests() {
    let test = project("docs/examples/python/test_hello.py");
    let output = Command::new("python3")
        .arg(test)
        .env("FAKE_RUNTIME", TOOL)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
