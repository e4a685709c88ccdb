//! A plugin that writes down what it is asked.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fake_runtime::api::{CreateContainerRequest, plugin};
use fake_runtime::recording::Row;
use fake_runtime::scripted::{ScriptedConnection, ScriptedPlugin};
use prost::Message as _;

use crate::node::Node;
use crate::plugin::Plugin;

/// A method, and what it was called with.
type Call = (String, Vec<u8>);

/// A plugin that changes nothing and keeps what it is asked.
#[derive(Debug)]
pub struct Recorder {
    /// In order.
    asked: Arc<Mutex<Vec<Call>>>,
    _connection: ScriptedConnection,
}

impl Recorder {
    /// Connects to whoever listens at `socket`.
    ///
    /// # Panics
    ///
    /// When nobody does, or does not take it.
    pub async fn connect(index: &str, socket: &Path) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&asked);
        let plugin = ScriptedPlugin::new(index, "recorder").observe(move |method, payload| {
            let mut asked = keep.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push((method.to_owned(), payload.to_vec()));
        });
        let connection = plugin.connect(socket).await;
        Self {
            asked,
            _connection: connection.expect("the runtime takes a plugin"),
        }
    }

    /// Connects to a node, and waits until it is asked about new containers.
    ///
    /// # Panics
    ///
    /// When it is not in time.
    pub async fn start(index: &str, node: &Node) -> Self {
        let since = node.log().from_now();
        let recorder = Self::connect(index, &node.nri_socket()).await;
        Plugin::asked_by(&since).await;
        recorder
    }

    /// Every CreateContainer until now.
    ///
    /// # Panics
    ///
    /// When one cannot be decoded.
    #[must_use]
    pub fn containers(&self) -> Vec<CreateContainerRequest> {
        let asked = self.asked().into_iter();
        asked
            .filter(|(method, _)| method == plugin::CREATE_CONTAINER)
            .map(|(_, payload)| CreateContainerRequest::decode(&payload[..]).expect("a request"))
            .collect()
    }

    /// The last CreateContainer.
    ///
    /// # Panics
    ///
    /// When there was none.
    #[must_use]
    pub fn last(&self) -> CreateContainerRequest {
        self.containers().pop().expect("containerd asked")
    }

    /// Everything until now as `fake-runtime record --raw` would write it.
    ///
    /// # Panics
    ///
    /// When a request cannot be decoded.
    #[must_use]
    pub fn recording(&self) -> String {
        let row = |(method, payload): Call| {
            let row = Row::of(&method, &payload, None).expect("a request")?;
            Some(serde_json::to_string(&row).expect("a row is JSON") + "\n")
        };
        self.asked().into_iter().filter_map(row).collect()
    }

    fn asked(&self) -> Vec<Call> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
