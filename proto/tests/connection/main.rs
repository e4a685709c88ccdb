//! What a connection promises to the code above it, whoever is at the other end.

mod calling;
mod ending;
// Marked as a test's, so that clippy allows it what it allows tests.
#[cfg(test)]
mod peer;
mod serving;
