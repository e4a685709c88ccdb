//! The `fake-runtime` tool.

fn main() -> std::process::ExitCode {
    fake_runtime::cli::main()
}
