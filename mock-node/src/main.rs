//! The `mock-node` tool.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
