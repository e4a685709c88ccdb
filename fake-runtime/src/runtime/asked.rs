//! What became of asking a plugin.

use std::time::Duration;

use nri_proto::api::{ContainerUpdate, CreateContainerRequest};

use crate::create::Answer;

/// A plugin that was asked, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The plugin, as `IDX-NAME`.
    pub plugin: String,
    /// What it was asked: the container as adjusted by those before it.
    pub request: CreateContainerRequest,
    /// What it answered.
    pub answer: Answer,
    /// What it asks to be changed of other containers.
    pub updates: Vec<ContainerUpdate>,
    /// The containers that it wants evicted, by id. containerd does not read that.
    pub evictions: Vec<String>,
    /// How long that took.
    pub latency: Duration,
}
