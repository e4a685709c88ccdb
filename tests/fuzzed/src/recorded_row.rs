//! What `fake-runtime record` writes of a request.

use std::fmt::Debug;

use fake_runtime::recording::{Redactor, Row};
use nri_proto::api::{ConfigureRequest, CreateContainerRequest, SynchronizeRequest, plugin};
use prost::Message;
use serde_json::Value;

use crate::assert_one_line;

const METHODS: [&str; 3] = [
    plugin::CONFIGURE,
    plugin::SYNCHRONIZE,
    plugin::CREATE_CONTAINER,
];

/// The payload of a request, behind a byte that chooses its method.
pub fn recorded_row(data: &[u8]) {
    let Some((method, payload)) = data.split_first() else {
        return;
    };
    let method = METHODS[usize::from(*method) % METHODS.len()];
    let row = match Row::of(method, payload, None) {
        Ok(row) => row.expect("it is a method that is recorded"),
        Err(error) => return assert_one_line(error),
    };
    let again = match method {
        plugin::CONFIGURE => read::<ConfigureRequest>(payload, row.request),
        plugin::SYNCHRONIZE => read::<SynchronizeRequest>(payload, row.request),
        _ => read::<CreateContainerRequest>(payload, row.request),
    };
    let redacted = redacted(method, &again);
    assert_eq!(
        self::redacted(method, &redacted),
        redacted,
        "nothing is left to redact"
    );
}

/// The payload that the row says, which is the one that was recorded.
fn read<T>(payload: &[u8], row: Value) -> Vec<u8>
where
    T: Message + Default + PartialEq + Debug + serde::de::DeserializeOwned,
{
    let sent = T::decode(payload).expect("there is a row of it");
    let read: T = serde_json::from_value(row).expect("a row is a request");
    assert_eq!(read, sent);
    sent.encode_to_vec()
}

fn redacted(method: &str, payload: &[u8]) -> Vec<u8> {
    let row = Row::of(method, payload, Some(&mut Redactor::default()));
    let row = row
        .expect("it can be read")
        .expect("it is recorded")
        .request;
    match method {
        plugin::CONFIGURE => encoded::<ConfigureRequest>(row),
        plugin::SYNCHRONIZE => encoded::<SynchronizeRequest>(row),
        _ => encoded::<CreateContainerRequest>(row),
    }
}

fn encoded<T: Message + serde::de::DeserializeOwned>(row: Value) -> Vec<u8> {
    let request: T = serde_json::from_value(row).expect("a row is a request");
    request.encode_to_vec()
}
