//! What should come of a container.

use serde::Deserialize;

use crate::changes::changes;
use crate::create::Answer;
use crate::replay::Container;
use nri_proto::api::ContainerAdjustment;

/// What should come of a container. What is not said may be as it likes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expected {
    /// Whether a plugin answers with an adjustment that has something in it.
    pub adjusted: Option<bool>,
    /// Whether a plugin that was asked gives no answer.
    pub lost: Option<bool>,
    /// A part of the text with which containerd refuses it.
    pub refused: Option<String>,
    /// What the plugin's log gives as the reason.
    pub reason: Option<String>,
    /// Every change of its OCI spec, line by line as `replay` prints them.
    pub changes: Option<Vec<String>>,
}

impl Expected {
    /// What of it did not come true, one line each. `plain` makes lines of one run those of another.
    pub(super) fn unmet(
        &self,
        container: &Container,
        plain: impl Fn(&str) -> String,
    ) -> Vec<String> {
        let mut unmet = Vec::new();
        let mut compare = |what: &str, expected: &str, got: &str| {
            if expected != got {
                unmet.push(format!("expected {what} {expected}, got {got}"));
            }
        };
        let (asked, refused) = match &container.created {
            Ok(created) => (&created.asked, None),
            Err(refused) => (&refused.asked, Some(refused.to_string())),
        };
        if let Some(adjusted) = self.adjusted {
            let got = asked.iter().any(|it| is_adjustment(&it.answer));
            compare("adjusted", &adjusted.to_string(), &got.to_string());
        }
        if let Some(lost) = self.lost {
            let got = asked.iter().any(|it| matches!(it.answer, Answer::Lost(_)));
            compare("lost", &lost.to_string(), &got.to_string());
        }
        if let Some(reason) = &self.reason {
            let got = container.decision.as_ref();
            compare(
                "reason",
                reason,
                got.map_or("none in the log", |it| &it.reason),
            );
        }
        match (&self.refused, &refused) {
            (None, None) => {}
            (Some(part), Some(text)) if text.contains(part) => {}
            (Some(part), _) => {
                let got = refused.as_deref().unwrap_or("the container was created");
                compare("a refusal that says", part, got);
            }
            // Whoever says nothing of a refusal expects none.
            (None, Some(text)) => compare("no refusal", "", text),
        }
        if let Some(expected) = &self.changes {
            let got = container.created.as_ref().map_or_else(
                |_| Vec::new(),
                |it| {
                    changes(&it.before, &it.after)
                        .iter()
                        .map(|it| plain(&it.to_string()))
                        .collect()
                },
            );
            compare("changes", &lines(expected), &lines(&got));
        }
        unmet
    }
}

fn is_adjustment(answer: &Answer) -> bool {
    matches!(answer, Answer::Adjust(it) if **it != ContainerAdjustment::default())
}

fn lines(lines: &[String]) -> String {
    if lines.is_empty() {
        "none".to_owned()
    } else {
        format!("\n    {}\n  ", lines.join("\n    "))
    }
}
