//! The session with the runtime: what the plugin makes of each thing that the stub tells or asks.

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use nri_proto::fields::more;
use nri_stub::api::{Event, SynchronizeResponse};
use nri_stub::{Call, Identity, Life, Limits, Origin, Reply, Stop, Stub};
use prost::Message;

use crate::answer::Answerer;
use crate::audit::{Audit, Bypassed};
use crate::config::{Config, DeviceInjectionMode};
use crate::convert;
use crate::decide::{Runtime, Staged};
use crate::health::Health;
use crate::metrics::Metrics;
use crate::panics;

/// How long Configure waits for what it brings to be set up. It goes on later; a runtime that starts its plugins does
/// not start itself over one that takes too long.
const SET_UP_LIMIT: Duration = Duration::from_secs(1);

/// Makes the answerer of the configuration that Configure brings, if it can be.
pub type SetUp<S> = Box<dyn FnOnce(&str) -> Option<Answerer<S>> + Send>;

/// All that a plugin is made of.
pub struct Session<S> {
    /// Where connections come from.
    pub origin: Origin,
    /// How each of them registers.
    pub identity: Identity,
    /// Who answers the runtime's questions. Without one, containers are left as they are.
    pub answerer: Arc<OnceLock<Answerer<S>>>,
    /// What makes the answerer, where the runtime has the configuration.
    pub set_up: Mutex<Option<SetUp<S>>>,
    /// What the probes tell of the session.
    pub health: Arc<Health>,
    /// Where the bypass audit is counted.
    pub metrics: Metrics,
    /// How long is waited for what.
    pub limits: Limits,
}

impl<S: Staged + Send + Sync + 'static> Session<S> {
    /// Serves the runtime until `stop`. Never more than one connection is open.
    ///
    /// # Errors
    ///
    /// When the first registration does not come about, or when the runtime passed on the only connection
    /// there is and that one is lost.
    pub fn run(self, stop: &Stop) -> Result<(), nri_stub::Error> {
        let Self {
            origin,
            identity,
            answerer,
            set_up,
            health,
            metrics,
            limits,
        } = self;
        let observed = Arc::clone(&health);
        let [configured, synchronized] = [(); 2].map(|()| Arc::clone(&answerer));
        let audit = Arc::new(Mutex::new(Audit::default()));
        let earlier = Arc::clone(&audit);
        Stub::new(identity.name, identity.index)
            .origin(origin)
            .limits(limits)
            .observe(move |life| {
                if let Life::Registering(_) = life {
                    // What the connection before this one left unfinished is no part of its list.
                    *lock(&earlier) = Audit::default();
                }
                observe(&observed, &life);
            })
            .configure(move |runtime| {
                if let Some(set_up) = lock(&set_up).take() {
                    make(set_up, &configured, runtime.config.clone());
                }
                configure(configured.get().map(Answerer::config), &health, runtime);
                Ok(())
            })
            .synchronize_raw(move |call| {
                let config = synchronized.get().map(Answerer::config);
                Reply::Answer(Ok(synchronize(config, &metrics, &mut lock(&audit), call)))
            })
            .raw(Event::CreateContainer, move |call: &Call<'_>| {
                let Some(answerer) = answerer.get() else {
                    return Reply::Answer(Ok(convert::answer(None)));
                };
                let told = call.runtime();
                let runtime = Runtime::identify(&told.name, &told.version);
                answerer.create_container(call, runtime)
            })
            .run(stop)
    }
}

// A panic is caught before it gets here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the answerer, on a thread of its own: that may look up a host name, or open a file on a mount that hangs.
fn make<S: Staged + Send + Sync + 'static>(
    set_up: SetUp<S>,
    answerer: &Arc<OnceLock<Answerer<S>>>,
    configuration: String,
) {
    let answerer = Arc::clone(answerer);
    let (done, made) = channel::<()>();
    let making = thread::Builder::new().name("set-up".into());
    let making = making.spawn(move || {
        if let Some(made) = set_up(&configuration) {
            let _ = answerer.set(made);
        }
        drop(done);
    });
    match making {
        // It ends with the thread, or else it goes on later.
        Ok(_) => drop(made.recv_timeout(SET_UP_LIMIT)),
        Err(error) => tracing::error!(%error, "no thread to set up what Configure brings"),
    }
}

fn observe(health: &Health, life: &Life<'_>) {
    match life {
        Life::Registering(Identity { name, index }) => tracing::info!(name, index, "registering"),
        Life::Undecodable { error, .. } => tracing::warn!(
            %error,
            "undecodable Configure, taking the runtime for a current one with default timeouts",
        ),
        Life::ShuttingDown => tracing::info!("the runtime shuts down"),
        Life::Unregistered {
            error,
            was_registered,
            repeated,
        } => {
            health.unregistered();
            // While the runtime stays away every attempt fails the same way: that is said once.
            if *was_registered || !repeated {
                tracing::warn!(
                    %error,
                    "not registered; containers are created without the plugin"
                );
            }
        }
        _ => {}
    }
}

fn configure(config: Option<&Config>, health: &Health, told: &nri_stub::Runtime) {
    tracing::info!(
        runtime = told.name,
        version = told.version,
        nri_version = told.nri_version,
        request_timeout_ms = told.request_timeout_ms,
        registration_timeout_ms = told.registration_timeout_ms,
        "configured by the runtime",
    );
    let runtime = Runtime::identify(&told.name, &told.version);
    let mode = config.map(|config| config.device_injection_mode);
    if mode == Some(DeviceInjectionMode::Cdi) && !runtime.delivers_cdi {
        tracing::warn!(
            runtime = told.name,
            version = told.version,
            "the runtime drops CDI devices from an adjustment, raw device nodes are used instead",
        );
    }
    if runtime.repeats_path {
        tracing::warn!(
            runtime = told.name,
            version = told.version,
            "the runtime sets PATH twice in most containers, so that it cannot be changed there: call the tools by their path below the overlay",
        );
    }
    let registrations = health.registered(told.request_timeout_ms);
    if registrations > 1 {
        tracing::info!(registrations, "registered again");
    }
}

/// Looks at one part of what is running, and gives the answer to it.
fn synchronize(
    config: Option<&Config>,
    metrics: &Metrics,
    audit: &mut Audit,
    call: &Call<'_>,
) -> Vec<u8> {
    let more = more(call.payload()).unwrap_or_else(|error| {
        // The audit is lost, and the registration need not be.
        tracing::warn!(
            %error,
            "undecodable Synchronize, running containers are not looked at for a missing overlay",
        );
        false
    });
    let audited = panics::caught(|| {
        let config = config?;
        audit.add(config, call.payload());
        (!more).then(|| audit.finish(config))
    });
    // A panic is logged by then, and an audit that failed is no reason to be dropped by the runtime.
    if let Ok(Some(Bypassed { count, names })) = audited {
        metrics
            .bypassed_containers
            .set(i64::try_from(count).unwrap_or(i64::MAX));
        if count > 0 {
            tracing::warn!(
                count,
                first = names.join(", "),
                "running containers came up without the overlay while the plugin was away",
            );
        }
    }
    let answer = SynchronizeResponse {
        more,
        ..Default::default()
    };
    answer.encode_to_vec()
}
