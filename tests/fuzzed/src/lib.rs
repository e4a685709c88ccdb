//! What holds of any input. Each function takes bytes as a fuzzer makes them, and panics where they break a promise.
//!
//! `fuzz/` has libFuzzer look for such bytes; the test in this crate holds the functions to the inputs that it found
//! worth keeping, in `fuzz/corpus/`.

mod cdi_spec;
mod create_container;
mod feature_gates;
mod flags;
mod frames;
mod manifest;
mod recorded_row;
mod recording;
mod scenario;
mod world;

pub use cdi_spec::cdi_spec;
pub use create_container::create_container;
pub use feature_gates::feature_gates;
pub use flags::flags;
pub use frames::{frames_from_plugin, frames_to_plugin};
pub use manifest::manifest;
pub use recorded_row::recorded_row;
pub use recording::recording;
pub use scenario::scenario;

use std::fmt::Display;

/// An error is for people: one line, which a terminal shows as it is.
fn assert_one_line(error: impl Display) {
    let line = error.to_string();
    assert!(!line.is_empty());
    assert!(!line.contains(char::is_control), "{line:?}");
}
