//! A row of either kind.

use fake_runtime::applied;
use fake_runtime::vectors::Case;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A row of either kind.
pub(super) enum Row {
    /// Of vectors.
    Case(Box<Case>),
    /// Of applied adjustments.
    Applied {
        /// Version and case.
        id: String,
        /// As it came.
        row: Value,
    },
}

impl Row {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Case(case) => &case.id,
            Self::Applied { id, .. } => id,
        }
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Value::deserialize(deserializer)?;
        if applied::is_row(&row) {
            let text = |field: &str| row[field].as_str().unwrap_or("?");
            Ok(Self::Applied {
                id: format!("{}/{}", text("version"), text("case")),
                row,
            })
        } else if row.get("flags").is_some() {
            serde_json::from_value(row)
                .map(Self::Case)
                .map_err(D::Error::custom)
        } else {
            Err(D::Error::custom(
                "neither a case nor a row of applied adjustments",
            ))
        }
    }
}
