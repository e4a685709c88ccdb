//! The runtime's side of NRI as a server: plugins connect to it as they would to containerd.

mod asked;
mod builder;
mod calls;
mod creation;
mod default_validator;
mod expectation;
mod faults;
mod hub;
mod identity;
mod inventory;
mod life;
mod link;
mod lock;
mod pace;
mod plan;
mod plugin;
mod received;
mod registration;
mod running;
mod server;
mod socket;
mod synchronize;
mod telling;
mod timeouts;
mod told;
mod updates;
mod validation;

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nri_proto::api::{Container, CreateContainerRequest, PodSandbox};
use tokio::net::UnixStream;

pub use asked::Asked;
pub use builder::{Builder, StartError};
pub use creation::{Created, Refused};
pub use default_validator::DefaultValidator;
pub use expectation::{Expectation, Unmet};
pub use faults::{Cut, Fault, FaultError};
pub use hub::WaitTimeout;
pub use life::{NotThere, Turn};
pub use link::Streams;
pub use pace::Pace;
pub use plan::Call;
pub use plugin::PluginInfo;
pub use received::Received;
pub use registration::Given;
pub use running::{UpdateFate, Updated};
pub use socket::SocketError;
pub use told::{Heard, Told};

use crate::create::{CreateError, Reason};
use crate::oci::Spec;

use hub::Hub;
use lock::lock;
use server::Server;
use socket::Socket;

/// A runtime that plugins can connect to, at [`FakeRuntime::socket_path`].
///
/// Dropping it closes every connection and removes its private socket, and fails the test where an
/// [`Expectation`] was not met.
#[derive(Debug)]
pub struct FakeRuntime {
    hub: Arc<Hub>,
    socket: Socket,
    /// `None` while the runtime is stopped.
    server: Mutex<Option<Server>>,
    expectations: Mutex<Vec<Expectation>>,
}

impl FakeRuntime {
    /// What can be chosen before the start.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Starts a runtime that plays the default profile on a private socket.
    ///
    /// # Errors
    ///
    /// As [`Builder::start`].
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Where plugins connect.
    #[must_use]
    pub fn socket_path(&self) -> &Path {
        self.socket.path()
    }

    /// Takes the runtime's end of a connection to a plugin that it has started itself, as containerd starts what is in
    /// its plugin directory. [`Launch`](crate::launch::Launch) does all of it.
    ///
    /// # Errors
    ///
    /// It is no unix socket.
    pub fn connect(&self, ours: OwnedFd, given: Given) -> io::Result<()> {
        let stream = std::os::unix::net::UnixStream::from(ours);
        stream.set_nonblocking(true)?;
        let stream = UnixStream::from_std(stream)?;
        if let Some(server) = &*lock(&self.server) {
            server.give(stream, given);
        }
        Ok(())
    }

    /// Waits until a plugin is registered, configured and synchronized, and says which: the first in the order of
    /// their indices.
    ///
    /// # Errors
    ///
    /// None is after [`Builder::patience`].
    pub async fn plugin_registered(&self) -> Result<PluginInfo, WaitTimeout> {
        self.hub
            .wait("a registered plugin", |state| {
                state.plugins.first().map(|p| p.info.clone())
            })
            .await
    }

    /// Waits until plugins have registered `count` times in all, those that have gone since included.
    ///
    /// # Errors
    ///
    /// They have not after [`Builder::patience`].
    pub async fn registrations(&self, count: usize) -> Result<(), WaitTimeout> {
        let awaited = format!("{count} registrations");
        self.hub
            .wait(&awaited, |state| {
                (state.registrations >= count).then_some(())
            })
            .await
    }

    /// How often plugins have registered until now, those that have gone since included.
    #[must_use]
    pub fn registration_count(&self) -> usize {
        self.hub.registrations()
    }

    /// Waits until no plugin is registered.
    ///
    /// # Errors
    ///
    /// One still is after [`Builder::patience`].
    pub async fn plugins_gone(&self) -> Result<(), WaitTimeout> {
        self.hub
            .wait("every plugin gone", |state| {
                state.plugins.is_empty().then_some(())
            })
            .await
    }

    /// Waits until something was received of which `wanted` makes a value, and returns that of the first.
    ///
    /// # Errors
    ///
    /// Nothing was after [`Builder::patience`].
    pub async fn received_one<T>(
        &self,
        awaited: &str,
        wanted: impl Fn(&Received) -> Option<T>,
    ) -> Result<T, WaitTimeout> {
        self.hub
            .wait(awaited, |state| state.received.iter().find_map(&wanted))
            .await
    }

    /// Everything that plugins did until now, oldest first. Of more than 10,000 things only the last are kept.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.hub.received()
    }

    /// The plugins that are registered now, in the order in which they are asked.
    #[must_use]
    pub fn plugins(&self) -> Vec<PluginInfo> {
        self.hub
            .plugins()
            .iter()
            .map(|plugin| plugin.info.clone())
            .collect()
    }

    /// Creates a container: asks every plugin that subscribed to it, in the order of their indices.
    ///
    /// Requests are made one at a time, as containerd makes them.
    ///
    /// # Errors
    ///
    /// What makes containerd refuse the container.
    pub async fn create_container(
        &self,
        pod: impl Into<Option<PodSandbox>>,
        container: impl Into<Option<Container>>,
    ) -> Result<Created, Refused> {
        let container = container.into();
        let spec = container.as_ref().map_or_else(
            || Spec::of(&Container::default(), self.hub.profile),
            |it| Spec::of(it, self.hub.profile),
        );
        self.create_container_of(pod, container, spec).await
    }

    /// The same for a container whose OCI spec is known: what a request tells is only part of it.
    ///
    /// # Errors
    ///
    /// What makes containerd refuse the container.
    pub async fn create_container_of(
        &self,
        pod: impl Into<Option<PodSandbox>>,
        container: impl Into<Option<Container>>,
        spec: Spec,
    ) -> Result<Created, Refused> {
        let request = CreateContainerRequest {
            pod: pod.into(),
            container: container.into(),
        };
        let created = creation::create(&self.hub, request, spec).await;
        if let Err(Refused {
            error:
                CreateError {
                    reason: Reason::RuntimeDied(_),
                    ..
                },
            ..
        }) = created
        {
            self.stop().await;
        }
        created
    }

    /// Expects something of the plugins until this runtime is dropped or [`FakeRuntime::verify`] is called.
    pub fn expect(&self, expectation: Expectation) {
        lock(&self.expectations).push(expectation);
    }

    /// Judges the expectations now, by what is [kept](Self::received), and forgets them.
    ///
    /// # Errors
    ///
    /// Those that were not met, with everything that was received.
    pub fn verify(&self) -> Result<(), Unmet> {
        let expectations = std::mem::take(&mut *lock(&self.expectations));
        expectation::judge(&expectations, &self.hub.received())
    }

    /// Goes away as a containerd does that is killed: every connection is closed, and the socket's file stays with
    /// nobody behind it.
    pub async fn stop(&self) {
        let server = lock(&self.server).take();
        if let Some(server) = server {
            server.stop().await;
        }
        self.hub.remove_all("the runtime stopped");
    }

    /// Stops if need be, and listens on the same path again. Nobody is registered then.
    ///
    /// # Errors
    ///
    /// The socket cannot be made again.
    pub async fn restart(&self) -> Result<(), SocketError> {
        self.stop().await;
        let listener = self.socket.listen()?;
        *lock(&self.server) = Some(Server::start(self.hub.clone(), listener));
        Ok(())
    }
}

impl Drop for FakeRuntime {
    fn drop(&mut self) {
        // A test that fails already has its reason; a panic now would abort and hide it.
        if !std::thread::panicking()
            && let Err(unmet) = self.verify()
        {
            panic!("{unmet}");
        }
    }
}
