use std::fmt::Debug;

use nri_proto::api::{
    ConfigureRequest, Container, ContainerAdjustment, CreateContainerRequest, Hook, OptionalInt64,
    PodSandbox, SynchronizeRequest,
};
use prost::Message;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::recordings::{VERSIONS, lines, requests};

/// Reads JSON as a message, where an unknown field is an error, and holds the message against what becomes of it
/// on the wire and in JSON.
fn read<M: Message + Default + PartialEq + Debug + Serialize + DeserializeOwned>(json: &Value) {
    let message: M =
        serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"));
    assert_eq!(
        M::decode(message.encode_to_vec().as_slice()).as_ref(),
        Ok(&message)
    );
    let json = serde_json::to_value(&message).expect("every message is JSON");
    assert_eq!(
        serde_json::from_value::<M>(json).expect("as written"),
        message
    );
}

#[test]
fn every_recorded_request_is_read() {
    for version in VERSIONS {
        requests(version, "Configure")
            .iter()
            .for_each(read::<ConfigureRequest>);
        requests(version, "Synchronize")
            .iter()
            .for_each(read::<SynchronizeRequest>);
        requests(version, "CreateContainer")
            .iter()
            .for_each(read::<CreateContainerRequest>);
    }
}

#[test]
fn every_case_of_the_vectors_is_read() {
    for file in ["cases", "cases-env", "cases-agent"] {
        for case in lines(&format!("vectors/{file}.jsonl.gz")) {
            let some = |json: &Value| (!json.is_null()).then(|| json.clone());
            some(&case["pod"]).iter().for_each(read::<PodSandbox>);
            some(&case["container"]).iter().for_each(read::<Container>);
            some(&case["expect"]["adjust"])
                .iter()
                .for_each(read::<ContainerAdjustment>);
        }
    }
}

#[test]
fn json_is_read_by_both_names_and_written_by_the_canonical_one() {
    let canonical = json!({"podSandboxId": "p", "CDIDevices": [{"name": "vendor/class=0"}]});
    let as_in_the_proto =
        json!({"pod_sandbox_id": "p", "CDI_devices": [{"name": "vendor/class=0"}]});
    let read: Container = serde_json::from_value(as_in_the_proto).unwrap();
    assert_eq!(read, serde_json::from_value(canonical.clone()).unwrap());
    assert_eq!(serde_json::to_value(read).unwrap(), canonical);

    let version = json!({"NRI_version": "v0.12.0"});
    let read: ConfigureRequest = serde_json::from_value(version).unwrap();
    assert_eq!(
        serde_json::to_value(read).unwrap(),
        json!({"NRIVersion": "v0.12.0"})
    );
}

#[test]
fn an_unknown_field_is_an_error() {
    let error = serde_json::from_value::<Container>(json!({"nmae": "main"})).unwrap_err();
    assert!(
        error.to_string().starts_with("unknown field `nmae`"),
        "{error}"
    );
}

#[test]
fn a_present_zero_is_not_an_absent_one() {
    let rule = json!({"major": {}});
    let read: nri_proto::api::LinuxDeviceCgroup = serde_json::from_value(rule).unwrap();
    assert_eq!(
        (read.major, read.minor),
        (Some(OptionalInt64 { value: 0 }), None)
    );
    assert_eq!(read.encode_to_vec(), [0x1a, 0]);
}

#[test]
fn equal_messages_have_equal_bytes() {
    let labels = |keys: [&str; 3]| PodSandbox {
        labels: keys
            .into_iter()
            .map(|key| (key.to_owned(), String::new()))
            .collect(),
        ..Default::default()
    };
    let (one, other) = (labels(["a", "b", "c"]), labels(["c", "a", "b"]));
    assert_eq!(one.encode_to_vec(), other.encode_to_vec());
}

#[test]
fn a_go_int_is_64_bits_wide() {
    let hook: Hook = serde_json::from_value(json!({"timeout": {"value": "4294967296"}})).unwrap();
    assert_eq!(hook.timeout.unwrap().value, 1 << 32);
}
