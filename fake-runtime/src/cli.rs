//! The command line of the `fake-runtime` tool.

mod bench;
mod check;
mod demo;
mod explain;
mod record;
mod replay;
mod show;
mod simulate;
mod stage;
mod vectors;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use fake_runtime::profile::{Profile, UnknownVersion};
use nri_plugin::logging::last_line;
use tokio::signal::unix::{SignalKind, signal};

/// What a command ends with.
type Result<T = Verdict> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Whether all was as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Exit status 0.
    Same,
    /// Exit status 1: something differs, and was printed.
    Different,
}

/// containerd's side of NRI: create containers for a plugin and see what comes of them.
#[derive(Debug, Parser)]
#[command(name = "fake-runtime", version, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_STATUS: &str = "Exit status: 0 all well, 1 a difference or a failure, 2 wrong usage, 128 + its number after a signal.";

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Args),
    Check(check::Args),
    Demo(demo::Args),
    Explain(explain::Args),
    IdlePlugin(bench::IdlePlugin),
    Record(record::Args),
    Replay(replay::Args),
    Stage(stage::Args),
    Vectors(vectors::Args),
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// People.
    #[default]
    Text,
    /// Scripts.
    Json,
}

/// Runs the tool on the process's own arguments.
pub(super) fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut out = anstream::stdout().lock();
    let outcome = cli.command.run(&mut out).and_then(|verdict| {
        out.flush()?;
        Ok(verdict)
    });
    match outcome {
        Ok(Verdict::Same) => ExitCode::SUCCESS,
        Ok(Verdict::Different) => ExitCode::FAILURE,
        // Whoever reads our output has seen enough, as in `fake-runtime … | head`.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref() {
            // Who asked for the end need not be told of it.
            Some(&Interrupted { signal }) => ExitCode::from(128 + signal),
            None => {
                // With stderr closed too, nobody is left to tell.
                let _ = writeln!(anstream::stderr(), "fake-runtime: {}", last_line(&*error));
                ExitCode::FAILURE
            }
        },
    }
}

impl Command {
    fn run(self, out: &mut dyn Write) -> Result {
        match self {
            Self::Bench(args) => args.run(out),
            Self::Check(args) => args.run(out),
            Self::Demo(args) => args.run(out),
            Self::Explain(args) => args.run(out),
            Self::IdlePlugin(args) => args.run(),
            Self::Record(args) => args.run(out),
            Self::Replay(args) => args.run(out),
            Self::Stage(args) => args.run(out),
            Self::Vectors(args) => args.run(out),
        }
    }
}

/// The profile of a version that was typed.
fn profile(version: &str) -> std::result::Result<&'static Profile, UnknownVersion> {
    Profile::find(version)
}

/// How long what is still going on may take to end.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(1);

/// SIGINT or SIGTERM came.
#[derive(Debug, thiserror::Error)]
#[error("interrupted by signal {signal}")]
struct Interrupted {
    signal: u8,
}

/// Runs what talks to plugins. When it is interrupted, the plugin that it started and its files go with it.
fn block_on<T>(talk: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let talked = runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            talked = talk => talked,
            _ = interrupt.recv() => Err(Interrupted { signal: 2 }.into()),
            _ = terminate.recv() => Err(Interrupted { signal: 15 }.into()),
        }
    });
    // A file that somebody never writes to must not keep the process.
    runtime.shutdown_timeout(SHUTDOWN_LIMIT);
    talked
}

/// Ends the process as clap does on wrong usage: for what only shows once files have been read.
fn usage(kind: ErrorKind, message: &str) -> ! {
    Cli::command().error(kind, message).exit()
}

fn is_broken_pipe(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    let io = error.downcast_ref::<io::Error>();
    io.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed_and_every_command_has_examples() {
        let mut cli = Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for command in cli
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let examples = command.get_after_help().map(ToString::to_string);
            let examples = examples.unwrap_or_default();
            assert!(
                examples.starts_with("Examples:\n"),
                "{} has none",
                command.get_name()
            );
        }
    }
}
