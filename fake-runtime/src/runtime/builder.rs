//! What can be chosen before a runtime starts.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use nri_proto::api::{Container, PodSandbox};

use super::FakeRuntime;
use super::default_validator::DefaultValidator;
use super::hub::Hub;
use super::inventory::Inventory;
use super::server::Server;
use super::socket::{Socket, SocketError};
use super::timeouts::Timeouts;
use crate::host::Host;
use crate::profile::{self, Profile};

/// Long enough for a slow machine, short enough for a test that waits in vain.
const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// A runtime cannot start.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct StartError(#[from] SocketError);

/// Chooses what a [`FakeRuntime`] is like.
#[derive(Debug)]
pub struct Builder {
    profile: &'static Profile,
    socket: Option<PathBuf>,
    inventory: Inventory,
    host: Host,
    timeouts: Timeouts,
    patience: Duration,
    seed: u64,
    default_validator: Option<DefaultValidator>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            profile: Default::default(),
            socket: None,
            inventory: Inventory::default(),
            host: Host::default(),
            timeouts: Timeouts {
                registration: milliseconds(profile::REGISTRATION_TIMEOUT_MS),
                request: milliseconds(profile::REQUEST_TIMEOUT_MS),
            },
            patience: DEFAULT_PATIENCE,
            seed: 0,
            default_validator: None,
        }
    }
}

impl Builder {
    /// Plays this version of containerd. The default is 2.1.
    #[must_use]
    pub fn profile(self, profile: &'static Profile) -> Self {
        Self { profile, ..self }
    }

    /// Listens on this path, and leaves the socket's file behind as containerd does. The default is a private one
    /// that goes with the runtime.
    #[must_use]
    pub fn socket(self, path: impl Into<PathBuf>) -> Self {
        Self {
            socket: Some(path.into()),
            ..self
        }
    }

    /// Tells plugins at their registration that these pods and containers are there already.
    #[must_use]
    pub fn inventory(self, pods: Vec<PodSandbox>, containers: Vec<Container>) -> Self {
        Self {
            inventory: Inventory { pods, containers },
            ..self
        }
    }

    /// Makes containers on a node with these CDI devices and mounts. The default has none and one shared root mount.
    #[must_use]
    pub fn host(self, host: Host) -> Self {
        Self { host, ..self }
    }

    /// Gives plugins this long to answer a request. The default is 2 s.
    #[must_use]
    pub fn request_timeout(self, request: Duration) -> Self {
        Self {
            timeouts: Timeouts {
                request,
                ..self.timeouts
            },
            ..self
        }
    }

    /// Gives plugins this long from connecting to registering. The default is 5 s.
    #[must_use]
    pub fn registration_timeout(self, registration: Duration) -> Self {
        Self {
            timeouts: Timeouts {
                registration,
                ..self.timeouts
            },
            ..self
        }
    }

    /// Waits this long for what a test waits for, [`FakeRuntime::plugin_registered`] and the like. The default is
    /// 10 s.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Draws whatever faults leave to chance from this number. The default is 0.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Turns on the validator that containerd brings along, from 2.2 on. It is off by default.
    #[must_use]
    pub fn default_validator(self, validator: DefaultValidator) -> Self {
        Self {
            default_validator: Some(validator),
            ..self
        }
    }

    /// Starts listening. Plugins can connect as soon as this returns.
    ///
    /// # Errors
    ///
    /// The socket cannot be made: its path is too long, taken, or its directory is missing.
    #[expect(
        clippy::unused_async,
        reason = "listening takes tokio's reactor; awaiting makes that plain at compile time"
    )]
    pub async fn start(self) -> Result<FakeRuntime, StartError> {
        let socket = match self.socket {
            Some(path) => Socket::at(path),
            None => Socket::private()?,
        };
        let listener = socket.listen()?;
        let hub = Hub::new(
            self.profile,
            self.timeouts,
            self.patience,
            self.inventory,
            self.host,
            self.seed,
            self.default_validator,
        );
        let server = Server::start(hub.clone(), listener);
        Ok(FakeRuntime {
            hub,
            socket,
            server: Mutex::new(Some(server)),
            expectations: Mutex::default(),
        })
    }
}

fn milliseconds(milliseconds: i64) -> Duration {
    Duration::from_millis(milliseconds.unsigned_abs())
}
