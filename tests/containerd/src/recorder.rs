//! A plugin that writes down what it is asked.

use std::path::Path;
use std::sync::{Arc, Mutex};

use fake_runtime::api::{ConfigureRequest, CreateContainerRequest};
use fake_runtime::scripted::{Reply, ScriptedConnection, ScriptedPlugin};
use prost::Message as _;

use crate::node::Node;
use crate::plugin::Plugin;

/// A plugin that changes nothing and keeps what it is asked.
#[derive(Debug)]
pub struct Recorder {
    configured: Arc<Mutex<ConfigureRequest>>,
    requests: Arc<Mutex<Vec<CreateContainerRequest>>>,
    _connection: ScriptedConnection,
}

impl Recorder {
    /// Connects to whoever listens at `socket`.
    ///
    /// # Panics
    ///
    /// When nobody does, or does not take it.
    pub async fn connect(index: &str, socket: &Path) -> Self {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&requests);
        let configured = Arc::new(Mutex::new(ConfigureRequest::default()));
        let told = Arc::clone(&configured);
        let plugin = ScriptedPlugin::new(index, "recorder")
            .reply(move |request| {
                keep.lock().expect("no recorder panics").push(request);
                Reply::Adjust(Box::default())
            })
            .observe(move |method, payload| {
                if method == "Configure" {
                    let request = ConfigureRequest::decode(payload).expect("it is one");
                    *told.lock().expect("no recorder panics") = request;
                }
            });
        let connection = plugin.connect(socket).await;
        Self {
            configured,
            requests,
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

    /// What the runtime that it is connected to calls its version.
    pub(crate) fn runtime_version(&self) -> String {
        let configured = self.configured.lock().expect("no recorder panics");
        configured.runtime_version.clone()
    }

    /// The last CreateContainer.
    ///
    /// # Panics
    ///
    /// When there was none.
    #[must_use]
    pub fn last(&self) -> CreateContainerRequest {
        let requests = self.requests.lock().expect("no recorder panics");
        requests.last().expect("containerd asked").clone()
    }
}
