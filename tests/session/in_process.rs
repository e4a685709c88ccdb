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
use nri_plugin::session::{Identity, Origin, Session, SessionError};
use nri_plugin::signals::Stop;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::plugin::{get, soon};

/// A running session.
pub(crate) struct InProcess {
    probes: SocketAddr,
    pub(crate) stop: watch::Sender<bool>,
    pub(crate) session: JoinHandle<Result<(), SessionError>>,
}

impl InProcess {
    /// Starts one beside the runtime at `socket`.
    pub(crate) fn start(socket: &Path, staged: impl Staged + Send + Sync + 'static) -> Self {
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
        let (stop, stopped) = Stop::by_hand();
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
        };
        Self {
            probes,
            stop,
            session: tokio::spawn(async move { session.run(stopped).await }),
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
