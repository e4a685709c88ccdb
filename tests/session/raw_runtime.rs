//! A runtime of which the test decides every step.

use std::path::{Path, PathBuf};
use std::task::{Context, Waker};

use nri_proto::api::{self, plugin, runtime};
use nri_proto::wire::{self, CallError, Caller, Closed, Incoming, Request, Side};
use prost::Message;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;

use crate::plugin::soon;

/// A socket on which nothing happens by itself.
pub(crate) struct RawRuntime {
    listener: UnixListener,
    path: PathBuf,
    _dir: TempDir,
}

/// The runtime's end of one connection. Dropping it closes the connection.
pub(crate) struct Connection {
    pub(crate) caller: Caller,
    incoming: Incoming,
    driver: JoinHandle<Closed>,
}

impl RawRuntime {
    pub(crate) fn listen() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nri.sock");
        Self {
            listener: UnixListener::bind(&path).unwrap(),
            path,
            _dir: dir,
        }
    }

    pub(crate) fn socket_path(&self) -> &Path {
        &self.path
    }

    /// Has the next one who connects wait until this connection is accepted.
    pub(crate) fn fill(&self) -> std::os::unix::net::UnixStream {
        rustix::net::listen(&self.listener, 0).unwrap();
        std::os::unix::net::UnixStream::connect(&self.path).unwrap()
    }

    /// Whether somebody has connected who was not accepted yet.
    pub(crate) fn has_another_connection(&self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.listener.poll_accept(&mut context).is_ready()
    }

    pub(crate) async fn accept(&self) -> Connection {
        Connection::new(self.accept_stream().await)
    }

    pub(crate) async fn accept_stream(&self) -> UnixStream {
        let (stream, _) = soon("a connection", self.listener.accept()).await.unwrap();
        stream
    }
}

impl Connection {
    pub(crate) fn new(stream: impl AsyncRead + AsyncWrite + Send + 'static) -> Self {
        let (caller, incoming, driver) = wire::open(stream, Side::Runtime);
        Self {
            caller,
            incoming,
            driver: tokio::spawn(driver.run()),
        }
    }

    /// The plugin's call to be registered, unanswered.
    pub(crate) async fn registration(&mut self) -> (api::RegisterPluginRequest, Request) {
        let request = self.next_call().await.expect("the plugin closed");
        assert_eq!(request.service, runtime::SERVICE);
        assert_eq!(request.method, runtime::REGISTER_PLUGIN);
        (
            api::RegisterPluginRequest::decode(request.payload.clone()).unwrap(),
            request,
        )
    }

    /// What the plugin calls next; `None` once it has closed.
    pub(crate) async fn next_call(&mut self) -> Option<Request> {
        soon("a call", self.incoming.next()).await
    }

    /// Calls the plugin.
    pub(crate) async fn call<A: Message + Default>(
        &self,
        method: &str,
        request: &impl Message,
    ) -> Result<A, CallError> {
        let calling = self
            .caller
            .call(plugin::SERVICE, method, request.encode_to_vec());
        let answer = soon(method, calling).await?;
        Ok(A::decode(answer).unwrap())
    }

    pub(crate) async fn configure(&self) -> api::ConfigureResponse {
        self.configure_as("containerd", "v2.2.7").await
    }

    /// The same as a runtime of this name and version.
    pub(crate) async fn configure_as(&self, name: &str, version: &str) -> api::ConfigureResponse {
        let request = api::ConfigureRequest {
            runtime_name: name.into(),
            runtime_version: version.into(),
            request_timeout: 2000,
            ..Default::default()
        };
        self.call(plugin::CONFIGURE, &request).await.unwrap()
    }

    /// Takes the plugin through its registration, as containerd does that has no containers.
    pub(crate) async fn register(&mut self) {
        self.register_beside(&api::SynchronizeRequest::default())
            .await;
    }

    /// The same with what is running already.
    pub(crate) async fn register_beside(&mut self, running: &api::SynchronizeRequest) {
        let (_, registration) = self.registration().await;
        registration.reply(Ok(Vec::new()));
        self.configure().await;
        self.call::<api::SynchronizeResponse>(plugin::SYNCHRONIZE, running)
            .await
            .unwrap();
    }

    /// Waits for the connection's end.
    pub(crate) async fn closed(mut self) -> Closed {
        soon("the connection's end", &mut self.driver)
            .await
            .unwrap()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}
