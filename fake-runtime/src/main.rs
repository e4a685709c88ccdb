//! The `fake-runtime` tool.

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
