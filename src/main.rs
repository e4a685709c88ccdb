//! The `nri-plugin` binary.

use std::process::ExitCode;

use nri_plugin::run::run;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), |name| std::env::var_os(name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the one line that stderr is for")]
            {
                eprintln!("nri-plugin: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
