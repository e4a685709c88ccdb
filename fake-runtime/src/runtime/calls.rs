//! Calling a plugin, and what containerd makes of each way in which that fails.

use std::time::Duration;

use nri_proto::wire::{CallError, Caller, Code, Status};
use prost::Message;

use super::hub::{Hub, State};
use super::plugin::Plugin;
use crate::create::Answer;

pub(super) const RUNTIME_SERVICE: &str = "nri.pkg.api.v1alpha1.Runtime";
const PLUGIN_SERVICE: &str = "nri.pkg.api.v1alpha1.Plugin";

/// A call without a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum Failure {
    /// The plugin answered, and stays: with an error, or with something that cannot be decoded.
    #[error("rpc error: code = {} desc = {}", go_name(.0.code), .0.message)]
    Answered(Status),
    /// Its connection ended, and with it the plugin.
    #[error("ttrpc: closed")]
    Closed,
    /// The plugin is lost, and its connection is yet to be closed.
    #[error("{0}")]
    Lost(String),
    /// Nothing was sent: the request is too large, by its length in bytes.
    #[error("a request of {0} bytes is too large")]
    TooLarge(usize),
}

/// Calls a method of the plugin.
pub(super) async fn call<T: Message + Default>(
    caller: &Caller,
    within: Duration,
    method: &str,
    request: &impl Message,
) -> Result<T, Failure> {
    let payload = request.encode_to_vec();
    let answer = caller
        .call_within(within, PLUGIN_SERVICE, method, payload)
        .await?;
    T::decode(answer).map_err(undecodable)
}

impl Plugin {
    /// Calls a method of the plugin. Where that loses the plugin, the connection is closed.
    pub(super) async fn call<T: Message + Default>(
        &self,
        hub: &Hub,
        method: &str,
        request: &impl Message,
    ) -> Result<T, Failure> {
        let answer = call(&self.caller, hub.timeouts.request, method, request).await;
        match &answer {
            // What ended the connection knows better why, and is about to say so; unless the runtime itself ends.
            Err(closed @ Failure::Closed) => {
                let is_removed =
                    |state: &State| (!state.open.contains(&self.connection)).then_some(());
                let _ = hub.wait("the end of a connection", is_removed).await;
                self.close(hub, &closed.to_string());
            }
            Err(Failure::Lost(why)) => self.close(hub, why),
            _ => {}
        }
        answer
    }

    /// Closes the connection from the runtime's side.
    pub(super) fn close(&self, hub: &Hub, why: &str) {
        self.driver.abort();
        hub.remove(&self.connection, why);
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Status(status) => Self::Answered(status),
            CallError::Undecodable(error) => undecodable(error),
            CallError::RequestTooLarge(length) => Self::TooLarge(length),
            CallError::DeadlineExceeded(_) => Self::Lost("context deadline exceeded".to_owned()),
            CallError::Closed => Self::Closed,
            error => Self::Lost(error.to_string()),
        }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Answered(status) => Self::Error {
                code: go_name(status.code),
                message: status.message,
            },
            Failure::TooLarge(_) => Self::Error {
                code: go_name(Code::RESOURCE_EXHAUSTED),
                message: failure.to_string(),
            },
            Failure::Closed | Failure::Lost(_) => Self::Lost(failure.to_string()),
        }
    }
}

fn undecodable(error: prost::DecodeError) -> Failure {
    Failure::Answered(Status::new(Code::UNKNOWN, error.to_string()))
}

/// A code as Go's gRPC library writes it, in which containerd reports a plugin's error.
fn go_name(code: Code) -> String {
    let names = [
        "OK",
        "Canceled",
        "Unknown",
        "InvalidArgument",
        "DeadlineExceeded",
        "NotFound",
        "AlreadyExists",
        "PermissionDenied",
        "ResourceExhausted",
        "FailedPrecondition",
        "Aborted",
        "OutOfRange",
        "Unimplemented",
        "Internal",
        "Unavailable",
        "DataLoss",
        "Unauthenticated",
    ];
    let named = usize::try_from(code.0)
        .ok()
        .and_then(|code| names.get(code));
    named.map_or_else(|| format!("Code({})", code.0), |name| (*name).to_owned())
}
