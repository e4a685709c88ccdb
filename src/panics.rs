//! Panics: a bug met by one request must cost that request its adjustment, and no more.

pub use nri_stub::panics::{caught, message};

/// Has panics logged, with where they happened, in place of what Rust prints to stderr.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, error = message(panic.payload()), "panic");
    }));
}
