//! One case, as a line of a vectors file spells it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fake_runtime::tree::{Entry, Kind};
use nri_proto::api::{Container, ContainerAdjustment, PodSandbox};
use serde::Deserialize;
use serde_json::Value;

use crate::staging::{Hold, StagedAnswer};

/// Command line, staged tree and request of one case, and the answer that it must give.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// `suite/number-hint`.
    pub id: String,
    /// The plugin's arguments in order, with placeholders.
    pub flags: Vec<String>,
    /// The plugin's environment, with placeholders. Nothing else that a plugin reads is set.
    #[serde(default)]
    pub process_env: BTreeMap<String, String>,
    /// What is made below the case's root, in order; link targets and contents may hold placeholders.
    #[serde(default)]
    pub tree: Vec<Entry>,
    /// The request's pod; `None` where it carries none.
    pub pod: Option<PodSandbox>,
    /// The request's container, with placeholders; `None` where it carries none.
    pub container: Option<Container>,
    /// What the node agent answers; `None` where there is none.
    pub agent: Option<StagedAnswer>,
    /// The staging lock; `None` where no file is made for it.
    pub lock: Option<Lock>,
    /// The answer.
    pub expect: Expect,
}

/// A staging lock as it stands when the request comes.
#[derive(Clone, Debug, Deserialize)]
pub struct Lock {
    /// The lock's file, below the case's root.
    pub path: PathBuf,
    /// How somebody other than the plugin holds it.
    pub hold: Hold,
}

/// What a case expects.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// This adjustment, in canonical protobuf JSON with placeholders; null for none.
    Adjust(Value),
    /// CreateContainer answers with an error.
    Error(bool),
    /// The plugin refuses its command line: it says so on stderr and exits with 1.
    StartupError(bool),
}

/// What stands for `$ROOT` and `$AGENT` when a case is played.
#[derive(Clone, Debug)]
pub struct Placeholders {
    /// The case's own directory.
    pub root: String,
    /// The agent's URL without a path; empty where the case has no agent.
    pub agent: String,
}

impl Placeholders {
    /// `text` with every placeholder replaced.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        text.replace("$ROOT", &self.root)
            .replace("$AGENT", &self.agent)
    }

    /// The staged tree with every link target and every content filled in.
    #[must_use]
    pub fn fill_tree(&self, tree: &[Entry]) -> Vec<Entry> {
        let fill = |entry: &Entry| match &entry.kind {
            Kind::Symlink { target } => Entry {
                kind: Kind::Symlink {
                    target: self.fill_path(target),
                },
                ..entry.clone()
            },
            Kind::File { content } => Entry {
                kind: Kind::File {
                    content: self.fill(content),
                },
                ..entry.clone()
            },
            _ => entry.clone(),
        };
        tree.iter().map(fill).collect()
    }

    /// The request's container with every text filled in.
    ///
    /// # Errors
    ///
    /// It has no JSON form.
    pub fn container(
        &self,
        container: Option<&Container>,
    ) -> Result<Option<Container>, serde_json::Error> {
        serde_json::from_value(self.fill_value(&serde_json::to_value(container)?))
    }

    /// The expected adjustment; `None` for none, and for one with nothing in it.
    ///
    /// # Errors
    ///
    /// The JSON is no adjustment.
    pub fn adjustment(
        &self,
        expected: &Value,
    ) -> Result<Option<ContainerAdjustment>, serde_json::Error> {
        let adjustment: Option<ContainerAdjustment> =
            serde_json::from_value(self.fill_value(expected))?;
        Ok(adjustment.filter(|adjustment| *adjustment != ContainerAdjustment::default()))
    }

    fn fill_path(&self, path: &Path) -> PathBuf {
        path.to_str()
            .map_or_else(|| path.to_owned(), |path| self.fill(path).into())
    }

    fn fill_value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.fill_value(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, field)| (name.clone(), self.fill_value(field)))
                .collect(),
            _ => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        Placeholders {
            root: "/tmp/case".to_owned(),
            agent: "http://127.0.0.1:9".to_owned(),
        }
    }

    #[test]
    fn placeholders_are_filled_in_wherever_they_stand() {
        let expected = serde_json::json!({ "mounts": [{ "source": "$ROOT/ov" }] });
        let adjustment = placeholders().adjustment(&expected).unwrap().unwrap();
        assert_eq!(adjustment.mounts[0].source, "/tmp/case/ov");

        let link = Entry::new(
            "link",
            Kind::Symlink {
                target: "$ROOT/dev0".into(),
            },
        );
        let tree = placeholders().fill_tree(&[link]);
        assert!(matches!(&tree[0].kind, Kind::Symlink { target } if target == "/tmp/case/dev0"));

        let content = "hostPath: $ROOT/dev0".to_owned();
        let file = Entry::new("file", Kind::File { content });
        let tree = placeholders().fill_tree(&[file]);
        let filled = "hostPath: /tmp/case/dev0";
        assert!(matches!(&tree[0].kind, Kind::File { content } if content == filled));

        let container = Container {
            env: vec!["ROOT=$ROOT".to_owned()],
            ..Container::default()
        };
        let filled = placeholders().container(Some(&container)).unwrap();
        assert_eq!(filled.unwrap().env, ["ROOT=/tmp/case"]);
        assert_eq!(placeholders().container(None).unwrap(), None);

        assert_eq!(
            placeholders().fill("--u=$AGENT/stagedz"),
            "--u=http://127.0.0.1:9/stagedz"
        );
    }

    #[test]
    fn an_empty_adjustment_counts_as_none() {
        for expected in [Value::Null, serde_json::json!({})] {
            assert!(placeholders().adjustment(&expected).unwrap().is_none());
        }
    }

    #[test]
    fn a_misspelt_field_of_an_expected_adjustment_is_refused() {
        let expected = serde_json::json!({ "mount": [] });
        assert!(placeholders().adjustment(&expected).is_err());
    }
}
