//! The program from its command line to its end.

mod prelaunched;

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use nri_stub::{ConnectError, Identity, Limits, Origin, Stop, place};
use thiserror::Error;

use crate::answer::Answerer;
use crate::config::{self, Config, ConfigError, HealthAddr};
use crate::flags::{FlagError, Flags, Invocation};
use crate::gate::Gate;
use crate::health::Health;
use crate::host::Host;
use crate::install::{self, InstallError, Installation};
use crate::logging::{Log, RotatedFile};
use crate::metrics::Metrics;
use crate::panics::{caught, log_panics};
use crate::path::AbsolutePath;
use crate::probes::{self, Probed, SharedGate};
use crate::session::Session;

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
    Session(#[from] nri_stub::Error),
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
    // Before all else: until then a signal just ends the process.
    let stop = Stop::on_signals(|signal| tracing::info!(signal, "stopping"))?;
    let default = Identity {
        name: config::PLUGIN_NAME.into(),
        index: config::PLUGIN_INDEX.into(),
    };
    let placed = place(&variable, "", default);
    if let Ok((origin @ Origin::Inherited(_), identity)) = placed {
        return prelaunched::run(origin, identity, args, variable, &stop);
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
    to_the_end(|| {
        placed?;
        let health = Health::new(metrics.clone());
        let identity = Identity {
            name: config.plugin_name.clone(),
            index: config.plugin_index.clone(),
        };
        let origin = Origin::Socket(config.socket_path.clone().into());
        let Some(answerer) = set_up(config, &health, &metrics, &stop)? else {
            return Ok(());
        };
        let session = Session {
            origin,
            identity,
            answerer: Arc::new(answerer.into()),
            set_up: Mutex::default(),
            health,
            metrics,
            limits: Limits::default(),
        };
        Ok(session.run(&stop)?)
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

/// Runs `serve` to its end. Threads on a hung mount do not keep the process: it ends with this one.
fn to_the_end(serve: impl FnOnce() -> Result<(), RunError>) -> Result<(), RunError> {
    let served = caught(serve).unwrap_or_else(|panic| Err(RunError::Panic(panic)));
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

/// Sets up what `config` wants, probes and all; nothing where it is to stop by then.
fn set_up(
    config: Config,
    health: &Arc<Health>,
    metrics: &Metrics,
    stop: &Stop,
) -> Result<Option<Answerer<Host>>, RunError> {
    let gate = config
        .staging_gate
        .as_ref()
        .map(|gate| Arc::new(Gate::new(gate)));
    if !serve_probes(&config, gate.clone(), health, metrics, stop)? {
        return Ok(None);
    }
    let (health, metrics) = (Arc::clone(health), metrics.clone());
    let answerer = Answerer::new(Arc::new(config), Host::new(), gate, health, metrics);
    Ok(Some(answerer))
}

/// Serves the probes where they are wanted. False where the process is to stop by then.
fn serve_probes(
    config: &Config,
    gate: Option<Arc<Gate>>,
    health: &Arc<Health>,
    metrics: &Metrics,
    stop: &Stop,
) -> Result<bool, RunError> {
    let Some(address) = &config.health_addr else {
        return Ok(true);
    };
    let failed = |error| RunError::Probes {
        address: address.clone(),
        error,
    };
    let host = address.clone();
    // A name's look-up may take half a minute, which is no reason to ignore a signal.
    let Some(listener) = stop.unless_requested(move || probes::listen(&host))? else {
        return Ok(false);
    };
    let listener = listener.map_err(failed)?;
    let probed = Probed {
        health: Arc::clone(health),
        gate: gate.map(SharedGate::new),
        metrics: metrics.clone(),
    };
    let address = probes::serve(listener, probed)?;
    tracing::info!(%address, "serving the probes");
    Ok(true)
}

fn log_start(config: &Config) {
    config.log();
    for (gate, enabled) in config.feature_gates.states() {
        tracing::info!(gate, enabled, "feature gate");
    }
}
