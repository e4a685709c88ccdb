//! A row of any kind.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::profile::Profile;
use crate::{applied, sent};

/// A row of any kind.
#[derive(Debug)]
pub enum Row<C> {
    /// A case of vectors, which is for the tool that is made for the plugin.
    Case {
        /// Which.
        id: String,
        /// All of it.
        case: C,
    },
    /// Of applied adjustments.
    Applied {
        /// Version and case.
        id: String,
        /// As it came.
        row: Value,
    },
    /// Of a recording of requests.
    Sent {
        /// Runtime, method and container.
        id: String,
        /// As it came.
        row: Value,
        /// Whose recording it is, where that is known.
        profile: Option<&'static Profile>,
    },
}

impl<C> Row<C> {
    pub(super) fn id(&self) -> &str {
        match self {
            Self::Case { id, .. } | Self::Applied { id, .. } | Self::Sent { id, .. } => id,
        }
    }

    /// Tells rows of recorded requests whose they are, which the recording's Configure says.
    pub(super) fn told(rows: &mut [Self]) {
        let mut sent = rows.iter().filter_map(|row| match row {
            Self::Sent { row, .. } => sent::runtime(row),
            Self::Case { .. } | Self::Applied { .. } => None,
        });
        let Some(runtime) = sent.next() else { return };
        for row in rows {
            if let Self::Sent { id, profile, .. } = row {
                *profile = Some(runtime);
                *id = format!("{runtime}/{id}");
            }
        }
    }
}

impl<'de, C: DeserializeOwned> Deserialize<'de> for Row<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let row = Value::deserialize(deserializer)?;
        let text = |field: &str| row[field].as_str().unwrap_or("?").to_owned();
        if applied::is_row(&row) {
            let id = format!("{}/{}", text("version"), text("case"));
            Ok(Self::Applied { id, row })
        } else if sent::is_row(&row) {
            let id = match row["container"].as_str() {
                Some(container) => format!("{}/{container}", text("rpc")),
                None => text("rpc"),
            };
            let profile = None;
            Ok(Self::Sent { id, row, profile })
        } else if row.get("flags").is_some() {
            let id = text("id");
            let case = serde_json::from_value(row).map_err(D::Error::custom)?;
            Ok(Self::Case { id, case })
        } else {
            Err(D::Error::custom(
                "neither a case, nor a row of applied adjustments, nor a recorded request",
            ))
        }
    }
}
