//! What a plugin does about each of NRI's methods.

use std::collections::BTreeMap;

use nri_proto::api::{self, Event, plugin};
use nri_proto::wire::{Code, Status};
use prost::Message;

use crate::call::{Call, Reply};
use crate::runtime::Runtime;

type Handler = Box<dyn Fn(&Call<'_>) -> Reply + Send + Sync>;
type Configure = Box<dyn Fn(&Runtime) -> Result<(), Status> + Send + Sync>;

/// What a plugin does about each of NRI's methods. A method without a handler is not subscribed to.
#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) configure: Option<Configure>,
    pub(crate) synchronize: Option<Handler>,
    events: BTreeMap<&'static str, (Event, Handler)>,
    /// What is subscribed to besides.
    pub(crate) extra_events: i32,
}

impl Handlers {
    pub(crate) fn on(&mut self, event: Event, handler: Handler) {
        if let Some(method) = method(event) {
            self.events.insert(method, (event, handler));
        }
    }

    /// The events of which the runtime is to tell: bit n-1 for event n. 0 would mean every event, so that a plugin
    /// without a handler subscribes to the one that costs least.
    pub(crate) fn mask(&self) -> i32 {
        let given = self.events.values();
        match given.fold(self.extra_events, |mask, (event, _)| mask | bit(*event)) {
            0 => bit(Event::RemovePodSandbox),
            mask => mask,
        }
    }

    pub(crate) fn of(&self, method: &str) -> Option<&Handler> {
        match method {
            plugin::SYNCHRONIZE => self.synchronize.as_ref(),
            _ => self.events.get(method).map(|(_, handler)| handler),
        }
    }

    /// The method that an event without an answer is told by, and its request: older runtimes have one method for
    /// all of them. An event without a handler is none.
    pub(crate) fn state_change(
        &self,
        payload: &[u8],
    ) -> Result<Option<(&'static str, Vec<u8>)>, Status> {
        let change: api::StateChangeEvent = decode(payload)?;
        let Some(method) = method(change.event()) else {
            return Ok(None);
        };
        // The requests of all these methods begin the same.
        let request = api::PostCreateContainerRequest {
            pod: change.pod,
            container: change.container,
        };
        let is_handled = self.events.contains_key(method);
        Ok(is_handled.then(|| (method, request.encode_to_vec())))
    }
}

fn bit(event: Event) -> i32 {
    1 << (event as i32 - 1)
}

/// How a request names an event's method.
fn method(event: Event) -> Option<&'static str> {
    Some(match event {
        Event::RunPodSandbox => plugin::RUN_POD_SANDBOX,
        Event::StopPodSandbox => plugin::STOP_POD_SANDBOX,
        Event::RemovePodSandbox => plugin::REMOVE_POD_SANDBOX,
        Event::UpdatePodSandbox => plugin::UPDATE_POD_SANDBOX,
        Event::PostUpdatePodSandbox => plugin::POST_UPDATE_POD_SANDBOX,
        Event::CreateContainer => plugin::CREATE_CONTAINER,
        Event::PostCreateContainer => plugin::POST_CREATE_CONTAINER,
        Event::StartContainer => plugin::START_CONTAINER,
        Event::PostStartContainer => plugin::POST_START_CONTAINER,
        Event::UpdateContainer => plugin::UPDATE_CONTAINER,
        Event::PostUpdateContainer => plugin::POST_UPDATE_CONTAINER,
        Event::StopContainer => plugin::STOP_CONTAINER,
        Event::RemoveContainer => plugin::REMOVE_CONTAINER,
        Event::ValidateContainerAdjustment => plugin::VALIDATE_CONTAINER_ADJUSTMENT,
        Event::Unknown | Event::Last => return None,
    })
}

/// Decodes what a handler is given.
pub(crate) fn decode<T: Message + Default>(payload: &[u8]) -> Result<T, Status> {
    T::decode(payload).map_err(|error| {
        Status::new(
            Code::INVALID_ARGUMENT,
            format!("undecodable request: {error}"),
        )
    })
}

/// A handler of decoded requests.
pub(crate) fn typed<Q, A>(
    handler: impl Fn(Q, &Call<'_>) -> Result<A, Status> + Send + Sync + 'static,
) -> Handler
where
    Q: Message + Default,
    A: Message,
{
    Box::new(move |call| {
        let answer = decode(call.payload()).and_then(|request| handler(request, call));
        Reply::Answer(answer.map(|answer| answer.encode_to_vec()))
    })
}
