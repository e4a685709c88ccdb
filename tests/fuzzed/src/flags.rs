//! The command line and what follows from it.

use std::ffi::OsString;

use nri_plugin::config::Config;
use nri_plugin::flags::{Flags, Invocation};

use crate::assert_one_line;

/// A command line: arguments with a NUL between each two.
pub fn flags(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let flags = match parse(text.split('\0')) {
        Ok(Invocation::Run(flags)) => *flags,
        Ok(Invocation::Print(text)) => return assert!(!text.is_empty()),
        Err(error) => return assert_one_line(error),
    };
    let config = match Config::resolve(flags) {
        Ok(config) => config,
        Err(error) => return assert_one_line(error),
    };
    let again = match parse(config.command_line()) {
        Ok(Invocation::Run(flags)) => Config::resolve(*flags),
        other => panic!("{config:?} reads back as {other:?}"),
    };
    let mut again = again.expect("what was accepted is accepted again");
    // A list flag has no way to write a comma, or a blank at an end, that a directory brought into a path.
    let unwritable = |shim: &String| shim.contains(',') || shim.trim() != shim;
    if config.ld_preload_shims.iter().any(unwritable) {
        again.ld_preload_shims.clone_from(&config.ld_preload_shims);
    }
    assert_eq!(again, config);
}

fn parse(
    args: impl IntoIterator<Item = impl Into<OsString>>,
) -> Result<Invocation, nri_plugin::flags::FlagError> {
    Flags::parse(args.into_iter().map(Into::into), |_| None)
}
