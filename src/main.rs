//! The `nri-plugin` binary.

use std::process::ExitCode;

use nri_plugin::run::run;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), |name| std::env::var_os(name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A path or a runtime's answer may hold more than one line.
            let line = error.to_string().lines().collect::<Vec<_>>().join("; ");
            #[expect(clippy::print_stderr, reason = "the one line that stderr is for")]
            {
                eprintln!("nri-plugin: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
