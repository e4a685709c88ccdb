//! Which build this is.

/// The package's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that it was built from, or `unknown`.
pub const COMMIT: &str = env!("NRI_PLUGIN_COMMIT");
