//! Started by the runtime, which brings the configuration with Configure. Whatever is wrong, the process stays until
//! the runtime is done with it: containerd 1.7 does not start over a plugin that ends early, and no runtime starts it
//! again.

use std::ffi::OsString;
use std::sync::{Arc, Mutex, OnceLock};

use nri_stub::{Identity, Limits, Origin, Stop};

use super::{RunError, log_start, serve_probes, set_up, start_log, to_the_end};
use crate::answer::Answerer;
use crate::config::Config;
use crate::flags::{Flags, Invocation};
use crate::health::Health;
use crate::host::Host;
use crate::logging::Log;
use crate::metrics::Metrics;
use crate::session::Session;

/// Serves the runtime at the other end of `origin`.
pub(super) fn run(
    origin: Origin,
    identity: Identity,
    args: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString> + Send + 'static,
    stop: &Stop,
) -> Result<(), RunError> {
    let metrics = Metrics::default();
    let health = Health::new(metrics.clone());
    let log = Arc::new(OnceLock::new());
    let starting = Starting {
        health: Arc::clone(&health),
        metrics: metrics.clone(),
        log: Arc::clone(&log),
        stop: stop.clone(),
    };
    let served = to_the_end(|| {
        let session = Session {
            origin,
            identity,
            answerer: Arc::default(),
            set_up: Mutex::new(Some(Box::new(move |text: &str| {
                let (config, wrong) = configuration(text, args, variable);
                starting.answerer(config, wrong)
            }))),
            health,
            metrics,
            limits: Limits::default(),
        };
        Ok(session.run(stop)?)
    });
    if let Err(error) = &served {
        // Its stderr may be nobody's.
        tracing::warn!(%error, "ended");
    }
    drop(log);
    served
}

/// The configuration that `text` makes under the flags and the variables; with what is wrong, if anything is, and
/// then what tells of it.
fn configuration(
    text: &str,
    args: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> (Config, Option<RunError>) {
    let (configured, unread) = Flags::configured(text);
    let unread = unread.map(RunError::from);
    let (mut flags, wrong) = match configured.clone().overridden(args, variable) {
        Ok(Invocation::Run(flags)) => (*flags, unread),
        // There is nobody to print for.
        Ok(Invocation::Print(_)) => (configured, unread),
        Err(error) => (configured, Some(error.into())),
    };
    // The plugin that a DaemonSet runs beside this one has the port.
    flags.health_addr.get_or_insert_default();
    match Config::resolve(flags.clone()) {
        Ok(config) => (config, wrong),
        Err(error) => (
            Config::that_tells(&flags),
            Some(wrong.unwrap_or(error.into())),
        ),
    }
}

/// What a process has before it is configured.
struct Starting {
    health: Arc<Health>,
    metrics: Metrics,
    log: Arc<OnceLock<Log>>,
    stop: Stop,
}

impl Starting {
    /// Who answers by `config`; nobody where something is `wrong`.
    fn answerer(self, config: Config, wrong: Option<RunError>) -> Option<Answerer<Host>> {
        let wrong = wrong.or(self.start_log(&config).err());
        let made = match wrong {
            None => {
                log_start(&config);
                set_up(config, &self.health, &self.metrics, &self.stop)
            }
            Some(error) => {
                // What is wrong with the probes as well is less of a matter.
                let _ = serve_probes(&config, None, &self.health, &self.metrics, &self.stop);
                Err(error)
            }
        };
        let told = made.inspect_err(|error| {
            tracing::error!(%error, "no container is injected");
            self.health.misconfigured(error);
        });
        told.ok().flatten()
    }

    /// Starts the log, on stdout where it cannot be where it is wanted.
    fn start_log(&self, config: &Config) -> Result<(), RunError> {
        let wanted = start_log(config, &self.metrics);
        let on_stdout = || {
            let config = Config {
                log_file: None,
                ..config.clone()
            };
            start_log(&config, &self.metrics)
        };
        let (log, failure) = match wanted {
            Ok(log) => (Ok(log), Ok(())),
            Err(error) => (on_stdout(), Err(error)),
        };
        if let Ok(log) = log {
            let _ = self.log.set(log);
        }
        failure
    }
}
