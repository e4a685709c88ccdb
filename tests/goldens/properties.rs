//! What holds for any input.

mod agreement;
mod allocation;
mod bytes;
mod flags;
mod host;
mod order;
mod paths;
mod second_pass;
mod shape;
mod surfaces;

use proptest::test_runner::{Config, FileFailurePersistence};

/// How many cases a property tries, and where it keeps what failed once.
fn cases(cases: u32) -> Config {
    let regressions = FileFailurePersistence::WithSource("regressions");
    Config {
        failure_persistence: Some(Box::new(regressions)),
        ..Config::with_cases(cases)
    }
}
