//! The program from its command line to its end.

mod prelaunched;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use thiserror::Error;
use tokio::task::spawn_blocking;

use crate::answer::Answerer;
use crate::config::{Config, ConfigError, HealthAddr};
use crate::flags::{FlagError, Flags, Invocation};
use crate::gate::Gate;
use crate::health::Health;
use crate::host::Host;
use crate::install::{self, InstallError, Installation};
use crate::logging::{Log, RotatedFile};
use crate::metrics::Metrics;
use crate::panics::{caught, caught_in, log_panics};
use crate::path::AbsolutePath;
use crate::probes::{self, Probed, SharedGate};
use crate::session::{ConnectError, Identity, Origin, SOCKET_VARIABLE, Session, SessionError};
use crate::signals::Stop;

/// How long a thread that read the disk is kept for the next container: starting one anew would be most of
/// that one's time.
const IDLE_THREAD: Duration = Duration::from_secs(3600);

/// Why the program ends other than by being told to. The text follows `nri-plugin: ` on stderr.
#[derive(Debug, Error)]
pub enum RunError {
    /// The command line cannot be read.
    #[error(transparent)]
    Flags(#[from] FlagError),
    /// A flag's value could not work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log has nowhere to go.
    #[error("cannot write the log to {path}: {error}; choose another --log-file")]
    LogFile {
        /// Where it should.
        path: AbsolutePath,
        /// What opening it met with.
        error: io::Error,
    },
    /// The probes have nowhere to listen.
    #[error("cannot serve the probes at {address}: {error}; choose another --health-addr")]
    Probes {
        /// Where they should.
        address: HealthAddr,
        /// What listening met with.
        error: io::Error,
    },
    /// It cannot be installed or removed.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The system refuses what every process has.
    #[error("cannot start: {0}")]
    System(#[from] io::Error),
    /// A bug of this program, or of a library that knows no other way to say what it lacks.
    #[error("cannot go on: {0}")]
    Panic(String),
    /// The runtime passed on something that is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The plugin did not get registered, or cannot be again.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Runs the program with the arguments `args`, its name not among them, and the environment that `variable`
/// looks up, until it is told to stop.
///
/// # Errors
///
/// When it cannot start, or cannot go on.
pub fn run(
    args: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<OsString> + Send + 'static,
) -> Result<(), RunError> {
    let args: Vec<_> = args.into_iter().collect();
    if let Some((word, args)) = args.split_first()
        && let Some(task) = install::Task::named(word)
    {
        return install(task, args, variable);
    }
    let passed_on = variable(SOCKET_VARIABLE).filter(|socket| !socket.is_empty());
    let passed_on = passed_on.map(|socket| Origin::inherited(&socket));
    if let Some(Ok(origin)) = passed_on {
        return prelaunched::run(origin, args, variable);
    }
    let flags = match Flags::parse(args, variable)? {
        Invocation::Run(flags) => *flags,
        Invocation::Print(text) => {
            print(&text);
            return Ok(());
        }
    };
    let config = Config::resolve(flags)?;
    let metrics = Metrics::default();
    let _log = start_log(&config, &metrics)?;
    log_start(&config);
    on_a_runtime(async {
        let mut stop = Stop::on_signals()?;
        let health = Health::new(metrics.clone());
        let identity = Identity {
            name: config.plugin_name.clone(),
            index: config.plugin_index.clone(),
        };
        let socket_path = config.socket_path.clone();
        let shared = (Arc::clone(&health), metrics.clone());
        // The look-up of the probes' name may take half a minute, which is no reason to ignore a signal.
        let setting_up = spawn_blocking(move || set_up(config, &shared.0, &shared.1));
        let answerer = tokio::select! {
            biased;
            () = stop.requested() => return Ok(()),
            answerer = setting_up => answerer.map_err(io::Error::other)??,
        };
        let origin = passed_on.unwrap_or(Ok(Origin::Socket(socket_path.into())))?;
        let session = Session {
            origin,
            identity,
            answerer: Arc::new(answerer.into()),
            set_up: Mutex::default(),
            health,
            metrics,
        };
        Ok(session.run(stop).await?)
    })
}

/// Does `task` with the program's own flags: what is installed runs with the same.
fn install(
    task: install::Task,
    args: &[OsString],
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<(), RunError> {
    let (root, args) = install::root(args);
    match Flags::parse(args.iter().cloned(), variable)? {
        Invocation::Run(flags) => {
            let config = Config::resolve((*flags).clone())?;
            let done = Installation::new(root, &config).run(task, &flags)?;
            print(&format!("{done}\n"));
        }
        Invocation::Print(text) => print(&text),
    }
    Ok(())
}

/// Prints to stdout.
fn print(text: &str) {
    // Ignore a broken pipe.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Runs `serve` to its end.
fn on_a_runtime(serve: impl Future<Output = Result<(), RunError>>) -> Result<(), RunError> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().thread_keep_alive(IDLE_THREAD);
    // Without a descriptor for its signals it panics.
    let runtime = caught(|| builder.build()).map_err(RunError::Panic)??;
    let served = runtime
        .block_on(caught_in(serve))
        .unwrap_or_else(|panic| Err(RunError::Panic(panic)));
    // Threads on a hung mount must not keep the process.
    runtime.shutdown_background();
    tracing::info!("stopped");
    served
}

/// Starts the log where `config` wants it.
fn start_log(config: &Config, metrics: &Metrics) -> Result<Log, RunError> {
    let (level, format) = (config.log_level, config.log_format);
    let dropped = metrics.log_lines_dropped.clone();
    let log = match &config.log_file {
        None => Log::to(io::stdout(), level, format, dropped)?,
        Some(path) => {
            let failed = |error| RunError::LogFile {
                path: path.clone(),
                error,
            };
            let file = RotatedFile::open(path.as_str()).map_err(failed)?;
            Log::to(file, level, format, dropped)?
        }
    };
    log_panics();
    Ok(log)
}

/// Sets up what `config` wants, probes and all.
fn set_up(
    config: Config,
    health: &Arc<Health>,
    metrics: &Metrics,
) -> Result<Answerer<Host>, RunError> {
    let gate = config
        .staging_gate
        .as_ref()
        .map(|gate| Arc::new(Gate::new(gate)));
    serve_probes(&config, gate.clone(), health, metrics)?;
    let (health, metrics) = (Arc::clone(health), metrics.clone());
    let config = Arc::new(config);
    Ok(Answerer::new(config, Host::new(), gate, health, metrics))
}

fn serve_probes(
    config: &Config,
    gate: Option<Arc<Gate>>,
    health: &Arc<Health>,
    metrics: &Metrics,
) -> Result<(), RunError> {
    let Some(address) = &config.health_addr else {
        return Ok(());
    };
    let failed = |error| RunError::Probes {
        address: address.clone(),
        error,
    };
    let listener = probes::listen(address).map_err(failed)?;
    let probed = Probed {
        health: Arc::clone(health),
        gate: gate.map(SharedGate::new),
        metrics: metrics.clone(),
    };
    let address = probes::serve(listener, probed)?;
    tracing::info!(%address, "serving the probes");
    Ok(())
}

fn log_start(config: &Config) {
    config.log();
    for (gate, enabled) in config.feature_gates.states() {
        tracing::info!(gate, enabled, "feature gate");
    }
}
