//! What the plugin answers, pinned: by properties, against the [model](nri_model), and by goldens.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what cannot be set up fails the test"
)]

mod arbitrary;
mod flags;
mod goldens;
mod plugin;
mod properties;
mod recordings;
mod reports;
mod spec;
mod truth_table;
