//! A plugin on the stub beside a runtime: what its handlers are told, and what a hung one costs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod handlers;
mod hung;
mod peer;
