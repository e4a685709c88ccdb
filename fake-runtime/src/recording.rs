//! What a runtime asked a plugin, written down: one request a line, as JSON.

mod about;
mod redact;

use nri_proto::api::{
    ConfigureRequest, CreateContainerRequest, PostCreateContainerRequest,
    PostStartContainerRequest, PostUpdateContainerRequest, PostUpdatePodSandboxRequest,
    RemoveContainerRequest, RemovePodSandboxRequest, RunPodSandboxRequest, StartContainerRequest,
    StateChangeEvent, StopContainerRequest, StopPodSandboxRequest, SynchronizeRequest,
    UpdateContainerRequest, UpdatePodSandboxRequest, ValidateContainerAdjustmentRequest, plugin,
};
use prost::{DecodeError, Message};
use serde::Serialize;
use serde_json::Value;

use about::AboutPod;
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
    pub rpc: String,
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
        let mut row = Recorded {
            method,
            payload,
            redactor,
        };
        match method {
            plugin::CONFIGURE => row.of(|_: &mut ConfigureRequest, _| None),
            plugin::SYNCHRONIZE => row.of(|it: &mut SynchronizeRequest, redactor| {
                if let Some(redactor) = redactor {
                    it.pods.iter_mut().for_each(|pod| redactor.pod(pod));
                    let containers = it.containers.iter_mut();
                    containers.for_each(|container| redactor.container(container));
                }
                None
            }),
            plugin::RUN_POD_SANDBOX => row.of_pod::<RunPodSandboxRequest>(),
            plugin::UPDATE_POD_SANDBOX => row.of_pod::<UpdatePodSandboxRequest>(),
            plugin::POST_UPDATE_POD_SANDBOX => row.of_pod::<PostUpdatePodSandboxRequest>(),
            plugin::STOP_POD_SANDBOX => row.of_pod::<StopPodSandboxRequest>(),
            plugin::REMOVE_POD_SANDBOX => row.of_pod::<RemovePodSandboxRequest>(),
            plugin::CREATE_CONTAINER => row.of_pod::<CreateContainerRequest>(),
            plugin::POST_CREATE_CONTAINER => row.of_pod::<PostCreateContainerRequest>(),
            plugin::START_CONTAINER => row.of_pod::<StartContainerRequest>(),
            plugin::POST_START_CONTAINER => row.of_pod::<PostStartContainerRequest>(),
            plugin::UPDATE_CONTAINER => row.of_pod::<UpdateContainerRequest>(),
            plugin::POST_UPDATE_CONTAINER => row.of_pod::<PostUpdateContainerRequest>(),
            plugin::STOP_CONTAINER => row.of_pod::<StopContainerRequest>(),
            plugin::REMOVE_CONTAINER => row.of_pod::<RemoveContainerRequest>(),
            plugin::STATE_CHANGE => row.of_pod::<StateChangeEvent>(),
            plugin::VALIDATE_CONTAINER_ADJUSTMENT => {
                row.of_pod::<ValidateContainerAdjustmentRequest>()
            }
            _ => return Ok(None),
        }
        .map(Some)
    }
}

/// A request on its way to a row.
struct Recorded<'a> {
    method: &'a str,
    payload: &'a [u8],
    redactor: Option<&'a mut Redactor>,
}

impl Recorded<'_> {
    /// `redact` takes out what is private, and says which container it is about.
    fn of<T: Message + Default + Serialize>(
        &mut self,
        redact: impl FnOnce(&mut T, Option<&mut Redactor>) -> Option<String>,
    ) -> Result<Row, RowError> {
        let mut request = T::decode(self.payload)?;
        let container = redact(&mut request, self.redactor.as_deref_mut());
        Ok(Row {
            rpc: self.method.to_owned(),
            container,
            request: serde_json::to_value(request)?,
        })
    }

    fn of_pod<T: AboutPod + Message + Default + Serialize>(&mut self) -> Result<Row, RowError> {
        self.of(|request: &mut T, redactor| {
            let (pod, mut container) = request.about();
            if let Some(redactor) = redactor {
                pod.into_iter().for_each(|pod| redactor.pod(pod));
                if let Some(container) = container.as_deref_mut() {
                    redactor.container(container);
                }
            }
            container.map(|container| container.name.clone())
        })
    }
}
