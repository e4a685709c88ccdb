//! How a row is written.

use nri_proto::api::{ContainerAdjustment, CreateContainerRequest};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::create::Answer;
use crate::oci::Spec;
use crate::profile::{Profile, UnknownVersion};

/// A row. What else it has was noted for people.
#[derive(Debug, Deserialize)]
pub struct Row {
    version: String,
    request: Option<CreateContainerRequest>,
    adjust: Option<ContainerAdjustment>,
    #[serde(default)]
    answers: Vec<RowPlugin>,
    before: Before,
    pub(super) after: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Before {
    spec: Spec,
}

/// One plugin of a row.
#[derive(Clone, Debug, Deserialize)]
pub struct RowPlugin {
    /// `IDX-NAME`.
    pub plugin: String,
    /// What it was asked; `None` where an error came before its turn, or that was not recorded.
    pub request: Option<CreateContainerRequest>,
    /// What it answered.
    #[serde(deserialize_with = "answer")]
    pub answer: Answer,
}

impl Row {
    /// The profile of the containerd on which it was recorded.
    ///
    /// # Errors
    /// When there is none.
    pub fn profile(&self) -> Result<&'static Profile, UnknownVersion> {
        Profile::find(&self.version)
    }

    /// The container's spec before any adjustment.
    pub fn spec_before(&self) -> &Spec {
        &self.before.spec
    }

    /// The plugins in the order in which they were asked.
    pub fn plugins(&self) -> Vec<RowPlugin> {
        let Some(adjust) = &self.adjust else {
            return self.answers.clone();
        };
        vec![RowPlugin {
            plugin: "10-rec".to_owned(),
            request: self.request.clone(),
            answer: Answer::Adjust(Box::new(adjust.clone())),
        }]
    }
}

/// An answer is an adjustment, an error, or lost.
fn answer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Answer, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Written {
        adjust: ContainerAdjustment,
        error: Option<String>,
        lost: bool,
        how: String,
    }

    Ok(match Written::deserialize(deserializer)? {
        Written {
            lost: true, how, ..
        } => Answer::Lost(how),
        Written {
            error: Some(message),
            ..
        } => Answer::Error {
            code: "Unknown".to_owned(),
            message,
        },
        Written { adjust, .. } => Answer::Adjust(Box::new(adjust)),
    })
}
