//! What a runtime asked a plugin, written down: one request a line, as JSON.

mod redact;

use nri_proto::api::{ConfigureRequest, CreateContainerRequest, SynchronizeRequest, plugin};
use prost::{DecodeError, Message};
use serde::Serialize;
use serde_json::Value;

pub use redact::Redactor;

/// Why a request cannot be written down.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// It is none of its method.
    #[error("undecodable request: {0}")]
    Undecodable(#[from] DecodeError),
    /// JSON names the values of enums, and one of these is newer than this program.
    #[error("a request that has no JSON form: {0}")]
    NoJson(#[from] serde_json::Error),
}

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The method that was called.
    pub rpc: &'static str,
    /// The container's name, where the request is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The request in canonical protobuf JSON.
    pub request: Value,
}

impl Row {
    /// The row of a request, redacted if so wanted; `None` of a method that is not recorded.
    ///
    /// # Errors
    ///
    /// The payload is no request of that method, or has a number in it for which JSON has no name.
    pub fn of(
        method: &str,
        payload: &[u8],
        redactor: Option<&mut Redactor>,
    ) -> Result<Option<Self>, RowError> {
        let mut container = None;
        let (rpc, request) = match method {
            plugin::CONFIGURE => (
                plugin::CONFIGURE,
                json(&ConfigureRequest::decode(payload)?)?,
            ),
            plugin::SYNCHRONIZE => {
                let mut request = SynchronizeRequest::decode(payload)?;
                if let Some(redactor) = redactor {
                    request.pods.iter_mut().for_each(|pod| redactor.pod(pod));
                    request
                        .containers
                        .iter_mut()
                        .for_each(|it| redactor.container(it));
                }
                (plugin::SYNCHRONIZE, json(&request)?)
            }
            plugin::CREATE_CONTAINER => {
                let mut request = CreateContainerRequest::decode(payload)?;
                if let Some(redactor) = redactor {
                    request.pod.iter_mut().for_each(|pod| redactor.pod(pod));
                    request
                        .container
                        .iter_mut()
                        .for_each(|it| redactor.container(it));
                }
                container = request
                    .container
                    .as_ref()
                    .map(|container| container.name.clone());
                (plugin::CREATE_CONTAINER, json(&request)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(Self {
            rpc,
            container,
            request,
        }))
    }
}

fn json(message: &impl Serialize) -> Result<Value, RowError> {
    Ok(serde_json::to_value(message)?)
}
