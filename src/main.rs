//! The `nri-plugin` binary.

use std::io::{self, Write};
use std::process::ExitCode;

use nri_plugin::logging::on_one_line;
use nri_plugin::run::run;

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1), |name| std::env::var_os(name)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // A path or a runtime's answer may hold more than one line, and words for a terminal.
            let line = error.to_string().lines().collect::<Vec<_>>().join("; ");
            let line = on_one_line(&line);
            // A stderr that takes nothing is no reason to end in another way.
            let _ = writeln!(io::stderr(), "nri-plugin: {line}");
            ExitCode::FAILURE
        }
    }
}
