//! That the messages are NRI's: everything recorded is read, field by field, and nothing gets lost.

mod names;
// Marked as a test's, so that clippy allows it what it allows tests.
#[cfg(test)]
mod recordings;
mod schema;
