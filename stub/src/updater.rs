//! Calling the runtime at any time.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use nri_proto::api::{UpdateContainersRequest, UpdateContainersResponse};
use nri_proto::wire::CallError;

use crate::call::update_containers;
use crate::connection::Connection;

/// Calls the runtime at any time, on the connection that there is. In a handler use
/// [`Call::update_containers`](crate::Call::update_containers): the runtime's answer has to be read by another thread.
#[derive(Clone, Debug, Default)]
pub struct Updater(Arc<Mutex<Weak<Connection>>>);

impl Updater {
    /// Has the runtime update or evict containers, and waits for its answer.
    ///
    /// # Errors
    ///
    /// The runtime says why not, the connection has ended, or there is none.
    pub fn update_containers(
        &self,
        request: &UpdateContainersRequest,
    ) -> Result<UpdateContainersResponse, CallError> {
        let connection = {
            let current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            current.upgrade().ok_or(CallError::Closed)?
        };
        update_containers(&connection, request)
    }

    pub(crate) fn set(&self, connection: &Arc<Connection>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(connection);
    }
}
