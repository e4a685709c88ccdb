//! How a row is written.

use nri_proto::api::{ContainerAdjustment, CreateContainerRequest};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{create::Answer, oci::Spec};

/// A row. What else it has was noted for people.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) version: String,
    request: Option<CreateContainerRequest>,
    adjust: Option<ContainerAdjustment>,
    #[serde(default)]
    answers: Vec<Plugin>,
    pub(super) before: Before,
    pub(super) after: Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct Before {
    pub(super) spec: Spec,
}

/// One plugin, what it was asked, and what it answered.
#[derive(Clone, Deserialize)]
pub(super) struct Plugin {
    pub(super) plugin: String,
    pub(super) request: Option<CreateContainerRequest>,
    pub(super) answer: PluginAnswer,
}

/// One of three.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct PluginAnswer {
    adjust: ContainerAdjustment,
    error: Option<String>,
    lost: bool,
}

impl Row {
    /// The plugins in the order in which they were asked.
    pub(super) fn plugins(&self) -> Vec<Plugin> {
        let Some(adjust) = &self.adjust else {
            return self.answers.clone();
        };
        vec![Plugin {
            plugin: "10-rec".to_owned(),
            request: self.request.clone(),
            answer: PluginAnswer {
                adjust: adjust.clone(),
                ..PluginAnswer::default()
            },
        }]
    }
}

impl From<PluginAnswer> for Answer {
    fn from(answer: PluginAnswer) -> Self {
        match answer {
            PluginAnswer { lost: true, .. } => Self::Lost("recorded so".to_owned()),
            PluginAnswer {
                error: Some(message),
                ..
            } => Self::Error {
                code: "Unknown".to_owned(),
                message,
            },
            PluginAnswer { adjust, .. } => Self::Adjust(Box::new(adjust)),
        }
    }
}
