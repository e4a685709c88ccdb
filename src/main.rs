//! The `nri-plugin` binary.

use std::io::{self, Write};
use std::process::ExitCode;

use nri_plugin::logging::last_line;
use nri_plugin::run::run;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), |name| std::env::var_os(name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Ignore write errors: the exit code stays.
            let _ = writeln!(io::stderr(), "nri-plugin: {}", last_line(&error));
            ExitCode::FAILURE
        }
    }
}
