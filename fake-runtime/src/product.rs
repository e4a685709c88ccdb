//! What a tool knows of the one plugin that it is made for.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// What is known of a plugin. Of any other than its own a tool knows nothing, which is the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product {
    /// Variables that the plugin is started with. Its arguments win over them.
    pub envs: &'static [(&'static str, &'static str)],
    /// The decision that a line of its log tells of.
    pub decision: Option<fn(&str) -> Option<Decision>>,
    /// The directories of CDI specs that the plugin's arguments name.
    pub cdi_dirs: Option<CdiDirs>,
    /// Stages a scenario's `overlay` in a directory, and returns the arguments that tell the plugin where.
    pub stage: Option<Stage>,
}

/// See [`Product::cdi_dirs`].
pub type CdiDirs = fn(&[OsString]) -> Vec<PathBuf>;

/// See [`Product::stage`].
pub type Stage = fn(&Value, &Path) -> Result<Vec<String>, Box<dyn Error + Send + Sync>>;

/// A decision about a container, as a plugin's log tells of it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Decision {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// What was decided, in a word.
    pub decision: String,
    /// Why.
    pub reason: String,
}
