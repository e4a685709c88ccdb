//! The command line of the `mock-node` tool.

mod bench;
mod demo;
mod explain;
mod stage;
mod vectors;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fake_runtime::cli::{Result, ServeFloor, replay};
use mock_node::plugin;

/// A mock GPU node for nri-plugin: its overlay, and what the plugin makes of containers there.
#[derive(Debug, Parser)]
#[command(name = "mock-node", version, after_help = fake_runtime::cli::EXIT_STATUS)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const REPLAY_EXAMPLES: &str = "\
Examples:
  mock-node replay pod.yaml --plugin target/debug/nri-plugin -- --overlay-host-path=/tmp/overlay
  mock-node replay requests.jsonl.gz --listen /tmp/nri.sock    # and start the plugin by hand
  mock-node replay scenario.yaml --watch --plugin target/debug/nri-plugin

A scenario file stages an overlay, creates containers and lets things go wrong in between:
  kind: Scenario
  containerd: \"2.3\"
  overlay: {gpus: 2}
  steps:
  - create: gpu-pod.yaml
    expect: {adjusted: true, reason: devices annotation}
  - fault: {cut: within-frame}
  - create: gpu-pod.yaml
    expect: {adjusted: true}";

const VECTORS_EXAMPLES: &str = "\
Examples:
  mock-node vectors tests/vectors/*.jsonl.gz --plugin target/release/nri-plugin
  mock-node vectors cases.jsonl --only flag-overlay --plugin target/debug/nri-plugin
  mock-node vectors cases.jsonl --plugin ./my-plugin --output json";

#[derive(Debug, Subcommand)]
enum Command {
    Bench(bench::Args),
    Demo(demo::Args),
    Explain(explain::Args),
    #[command(
        hide = true,
        after_help = "Examples:\n  mock-node floor /tmp/nri.sock 500"
    )]
    Floor(ServeFloor),
    /// Create containers as `fake-runtime replay` does, say why the plugin decided so, and stage the overlays of
    /// scenarios
    #[command(after_help = REPLAY_EXAMPLES)]
    Replay(replay::Args),
    Stage(stage::Args),
    /// Replay cases and compare the plugin's answers with those that they expect
    ///
    /// A case has a command line, a staged tree and a request: it is played over a real socket, with a plugin process, a
    /// socket and a directory of its own. Device nodes take root: without it the cases that have some are skipped, by
    /// name. Rows of applied adjustments are played as `fake-runtime vectors` plays them.
    ///
    /// Prints what differs, and as the last line how many passed, failed and were skipped. As JSON, every row's outcome.
    #[command(after_help = VECTORS_EXAMPLES)]
    Vectors(fake_runtime::cli::vectors::Args),
}

/// Runs the tool on the process's own arguments.
pub(super) fn main() -> ExitCode {
    fake_runtime::cli::run(|cli: Cli, out| cli.command.run(out))
}

impl Command {
    fn run(self, out: &mut dyn Write) -> Result {
        match self {
            Self::Bench(args) => args.run(out),
            Self::Demo(args) => args.run(out),
            Self::Explain(args) => args.run(out),
            Self::Floor(args) => args.run(),
            Self::Replay(args) => args.run(out, &plugin::KNOWN),
            Self::Stage(args) => args.run(out),
            Self::Vectors(args) => vectors::run(&args, out),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed_and_every_command_has_examples_of_its_own() {
        let mut cli = Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for command in cli
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let examples = command.get_after_help().map(ToString::to_string);
            let own = format!("Examples:\n  mock-node {}", command.get_name());
            assert!(
                examples.unwrap_or_default().starts_with(&own),
                "{} has none",
                command.get_name()
            );
        }
    }
}
