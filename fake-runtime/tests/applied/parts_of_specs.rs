//! Hand-picked adjustments: what real containerd made of them, in part of the OCI spec, and what a started
//! container's environment then was.

use fake_runtime::create::{Answer, Outcome, create};
use fake_runtime::oci::Spec;
use fake_runtime::profile::Profile;
use serde_json::{Map, Value, json};

use crate::data;

/// Plays a row's container with one plugin, named as in the recordings.
fn play(version: &str, spec: Spec, row: &Value) -> Outcome {
    let answer = match row.get("adjust") {
        Some(adjust) => Answer::Adjust(serde_json::from_value(adjust.clone()).unwrap()),
        None => Answer::Error {
            code: "Unknown".into(),
            message: "plugin says no".into(),
        },
    };
    let profile = Profile::find(version).unwrap();
    let answers = [("10-rec".to_owned(), answer)];
    create(profile, Default::default(), spec, &answers, &data::host())
}

/// A whole spec around the part that was recorded, whose fields lie side by side. Ids are those of two
/// different containers, before and after.
fn whole(part: &Value) -> Value {
    let mut part = without_ids(part);
    let process = ["args", "env", "oomScoreAdj", "rlimits"];
    let linux = ["cgroupsPath", "devices", "resources", "rootfsPropagation"];
    let mut whole = json!({"process": {"user": {"uid": 0, "gid": 0}}, "linux": {}});
    for (field, value) in std::mem::take(part.as_object_mut().unwrap_or(&mut Map::new())) {
        if value.is_null() {
            continue;
        }
        match field.as_str() {
            name if process.contains(&name) => whole["process"][field] = value,
            name if linux.contains(&name) => whole["linux"][field] = value,
            _ => whole[field] = value,
        }
    }
    whole
}

fn without_ids(value: &Value) -> Value {
    let id = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match value {
        Value::String(text) => {
            let parts: Vec<_> = text
                .split('/')
                .map(|p| if id(p) { "ID" } else { p })
                .collect();
            parts.join("/").into()
        }
        Value::Array(list) => list.iter().map(without_ids).collect(),
        Value::Object(map) => map
            .iter()
            .map(|(k, v)| (k.clone(), without_ids(v)))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn hand_picked_adjustments_give_the_recorded_spec_or_error() {
    for version in ["1.7.24", "2.1.9"] {
        let rows = data::rows(&format!("recorded/applied-containerd-{version}.jsonl.gz"));
        assert_eq!(rows.len(), 38);
        for row in rows {
            let case = format!("{version}, {}", row["case"]);
            // The plugin that answers with an error was recorded without any spec.
            let after = row.get("after").unwrap_or(&row);
            let before: Spec = serde_json::from_value(whole(&row["before"]["spec"])).unwrap();
            match play(version, before, &row).result {
                Ok((_, spec)) => {
                    let spec = serde_json::to_value(spec).unwrap();
                    assert_eq!(spec, whole(&after["spec"]), "{case}");
                }
                Err(error) => assert_eq!(error.to_string(), after["create_error"], "{case}"),
            }
        }
    }
}

#[test]
fn a_started_containers_environment_is_the_recorded_one() {
    for version in ["2.2.7", "2.3.4"] {
        let rows = data::rows(&format!("recorded/env-proof-{version}.jsonl.gz"));
        assert_eq!(rows.len(), 23);
        for row in rows {
            let case = format!("{version}, {}", row["case"]);
            let before = whole(&json!({"env": row["before_env"]}));
            let before: Spec = serde_json::from_value(before).unwrap();
            let (_, spec) = play(version, before, &row).result.unwrap();
            assert_eq!(json!(spec.process.env), row["after_env"], "{case}");
            let mut environ = spec.process.environ();
            environ.push("HOME=/root");
            assert_eq!(json!(environ), row["proc_1_environ"], "{case}");
        }
    }
}
