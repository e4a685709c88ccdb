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

/// How many cases a property tries, and where it keeps what failed once. `PROPERTIES=full`, as in ci/goldens, tries all;
/// otherwise a tenth has to do, so that `cargo test` stays quick.
fn cases(cases: u32) -> Config {
    let full = std::env::var_os("PROPERTIES").is_some_and(|value| value == "full");
    let regressions = FileFailurePersistence::WithSource("regressions");
    Config {
        failure_persistence: Some(Box::new(regressions)),
        ..Config::with_cases(if full { cases } else { cases / 10 })
    }
}
