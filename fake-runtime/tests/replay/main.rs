//! `fake-runtime replay`, with a plugin that somebody else starts.

#![expect(clippy::unwrap_used, reason = "a test has nothing better to do")]

mod pods;
mod scenarios;
mod tool;
