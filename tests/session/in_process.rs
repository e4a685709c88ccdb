//! The plugin without its process: a session over a host of the test's making, and the probes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use nri_plugin::answer::Answerer;
use nri_plugin::config::{Config, HealthAddr};
use nri_plugin::decide::Staged;
use nri_plugin::flags::Flags;
use nri_plugin::health::Health;
use nri_plugin::metrics::Metrics;
use nri_plugin::probes::{self, Probed};
use nri_plugin::session::Session;
use nri_stub::{Error, Identity, Limits, Origin, Stop};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::plugin::{get, soon};

/// A running session.
pub(crate) struct InProcess {
    probes: SocketAddr,
    pub(crate) stop: Stop,
    pub(crate) session: JoinHandle<Result<(), Error>>,
}

impl InProcess {
    /// Starts one beside the runtime at `socket`.
    pub(crate) fn start(socket: &Path, staged: impl Staged + Send + Sync + 'static) -> Self {
        Self::start_with(socket, staged, Limits::default())
    }

    /// The same with other limits.
    pub(crate) fn start_with(
        socket: &Path,
        staged: impl Staged + Send + Sync + 'static,
        limits: Limits,
    ) -> Self {
        let config = Arc::new(Config::resolve(Flags::default()).unwrap());
        let metrics = Metrics::default();
        let health = Health::new(metrics.clone());
        let address = HealthAddr {
            host: "127.0.0.1".into(),
            port: 0,
        };
        let listener = probes::listen(&address).unwrap();
        let probed = Probed {
            health: health.clone(),
            gate: None,
            metrics: metrics.clone(),
        };
        let probes = probes::serve(listener, probed).unwrap();
        let stop = Stop::by_hand();
        let stopped = stop.clone();
        let session = Session {
            origin: Origin::Socket(socket.to_owned()),
            identity: Identity {
                name: "in-process".into(),
                index: "10".into(),
            },
            answerer: Arc::new(
                Answerer::new(config, staged, None, health.clone(), metrics.clone()).into(),
            ),
            set_up: Mutex::default(),
            health,
            metrics,
            limits,
        };
        Self {
            probes,
            stop,
            session: spawn_blocking(move || session.run(&stopped)),
        }
    }

    /// Asks `path` until it answers `status`, and returns the body.
    pub(crate) async fn until(&self, path: &str, status: u16) -> String {
        let asking = async {
            loop {
                let (told, body) = get(self.probes, path).await;
                if told == status {
                    return body;
                }
            }
        };
        soon(&format!("{path} answers {status}"), asking).await
    }

    /// Waits until a request is worked on.
    pub(crate) async fn request_in_flight(&self) {
        let asking = async {
            while !get(self.probes, "/metrics")
                .await
                .1
                .contains("requests_in_flight 1\n")
            {}
        };
        soon("a request in flight", asking).await;
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        // The test's runtime waits for its thread.
        self.stop.request();
    }
}
