//! The plugin's life beside a runtime: registering, serving, losing the runtime and finding it again, stopping.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod descriptors;
mod hung;
mod hung_mount;
mod in_process;
mod life;
mod limits;
mod plugin;
mod prelaunched;
mod raw_runtime;
mod registration;
mod reports;
mod requests;
mod stop;
mod synchronize;
mod undrained;
