//! The command line of the `fake-runtime` tool, and the parts of it that tools for one plugin are made of.

mod asking;
mod bench;
mod check;
mod junit;
mod plugins;
mod record;
pub mod replay;
pub mod show;
mod simulate;
pub mod vectors;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

pub use bench::ServeFloor;
pub use simulate::Simulate;

use crate::one_line::last_line;
use crate::product::Product;
use clap::{Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

/// What a command ends with.
pub type Result<T = Verdict> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Whether all was as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exit status 0.
    Same,
    /// Exit status 1: something differs, and was printed.
    Different,
    /// Exit status 3: nothing is wrong, but something could be better, and was printed.
    Advice,
}

/// containerd's side of NRI: create containers for a plugin and see what comes of them.
#[derive(Debug, Parser)]
#[command(name = "fake-runtime", version, after_help = EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// What the exit status of a tool says.
pub const EXIT_STATUS: &str = "Exit status: 0 all well, 1 a difference or a failure, 2 wrong usage, 128 + its number after a signal.";

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Args),
    Check(check::Args),
    #[command(
        hide = true,
        after_help = "Examples:\n  fake-runtime floor /tmp/nri.sock 500"
    )]
    Floor(ServeFloor),
    Record(record::Args),
    Replay(replay::Args),
    Vectors(vectors::Args),
}

/// Who reads results of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Report {
    /// People.
    #[default]
    Text,
    /// Scripts.
    Json,
    /// CI.
    Junit,
}

/// Who reads the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Output {
    /// People.
    #[default]
    Text,
    /// Scripts.
    Json,
}

/// Runs the tool on the process's own arguments.
#[must_use]
pub fn main() -> ExitCode {
    run(|cli: Cli, out| cli.command.run(out))
}

/// Runs a tool on the process's own arguments: what `run` prints goes to stdout, and its error to stderr.
pub fn run<C: Parser>(run: impl FnOnce(C, &mut dyn Write) -> Result) -> ExitCode {
    let cli = C::parse();
    let mut out = anstream::stdout().lock();
    let outcome = run(cli, &mut out).and_then(|verdict| {
        out.flush()?;
        Ok(verdict)
    });
    match outcome {
        Ok(Verdict::Same) => ExitCode::SUCCESS,
        Ok(Verdict::Different) => ExitCode::FAILURE,
        Ok(Verdict::Advice) => ExitCode::from(3),
        // Whoever reads our output has seen enough, as in `fake-runtime … | head`.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            // Who asked for the end need not be told of it.
            if let Some(&Interrupted { signal }) = error.downcast_ref() {
                return ExitCode::from(128 + signal);
            }
            match error.downcast::<clap::Error>() {
                Ok(usage) => usage.format(&mut C::command()).exit(),
                Err(error) => {
                    let tool = C::command();
                    // With stderr closed too, nobody is left to tell.
                    let _ = writeln!(
                        anstream::stderr(),
                        "{}: {}",
                        tool.get_name(),
                        last_line(&*error)
                    );
                    ExitCode::FAILURE
                }
            }
        }
    }
}

impl Command {
    fn run(self, out: &mut dyn Write) -> Result {
        match self {
            Self::Bench(args) => args.run(out),
            Self::Check(args) => args.run(out),
            Self::Floor(args) => args.run(),
            Self::Record(args) => args.run(),
            Self::Replay(args) => args.run(out, &Product::default()),
            Self::Vectors(args) => args.run(out),
        }
    }
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
pub fn block_on<T>(talk: impl Future<Output = Result<T>>) -> Result<T> {
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
