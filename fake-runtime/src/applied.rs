//! Recorded adjustments: rows of what real runtimes made of plugins' answers, held against this crate.
//!
//! A row is a JSON object with the `version` of the runtime, the container's OCI spec `before`, and what
//! came `after`: a `spec`, a `create_error`, or `containerd_died`. Where the OCI runtime refused the `spec`, it also has
//! the `create_runtime_error`. It tells either of one plugin, by its
//! `adjust`, or of several, by their `answers`, each with the `request` that the plugin got.

mod difference;
mod order;
mod row;

pub use difference::Difference;
use nri_proto::api::CreateContainerRequest;
pub use row::{Row, RowPlugin};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::create::{Answer, CreateError, Outcome, Reason, create};
use crate::host::Host;
use crate::oci::Spec;
use crate::profile::UnknownVersion;

/// The field with what the OCI runtime refused.
const REFUSAL: &str = "create_runtime_error";

/// The last line of what the OCI runtime logged, without its time. Warnings may stand before it.
fn refusal(text: &str) -> &str {
    let last = text.rfind("level=error");
    text[last.unwrap_or_default()..].trim_end()
}

/// Why a row did not pass.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It is not a row of this kind.
    #[error("not a row of applied adjustments: {0}")]
    Unreadable(#[from] serde_json::Error),
    /// There is no profile for its version.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// Something came out differently.
    #[error("{}", lines(.0))]
    Differs(Vec<Difference>),
}

fn lines(differences: &[Difference]) -> String {
    let lines: Vec<_> = differences.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Whether a JSON object is such a row, judged by the fields it has.
pub fn is_row(object: &Value) -> bool {
    let has = |field| object.get(field).is_some();
    has("version") && has("before") && has("after") && (has("adjust") || has("answers"))
}

/// Whether what comes of a row depends on the node: it names CDI devices, or mounts with a propagation.
pub fn needs_host(row: &Value) -> bool {
    let Ok(row) = Row::deserialize(row) else {
        return false;
    };
    let mut plugins = row.plugins().into_iter();
    plugins.any(|plugin| match plugin.answer {
        Answer::Adjust(adjustment) => {
            let mut options = adjustment.mounts.iter().flat_map(|mount| &mount.options);
            !adjustment.cdi_devices.is_empty()
                || options.any(|option| matches!(option.as_str(), "rslave" | "rshared"))
        }
        Answer::Error { .. } | Answer::Lost(_) => false,
    })
}

/// Plays a row's container, and compares the spec or the error, and what each plugin was asked.
///
/// # Errors
/// [`Failure`] says what differs.
pub fn check(row: &Value, host: &Host) -> Result<(), Failure> {
    let row = Row::deserialize(row)?;
    let plugins = row.plugins();
    let first = plugins.first().and_then(|plugin| plugin.request.clone());
    let answers: Vec<_> = plugins
        .into_iter()
        .map(|plugin| (plugin.plugin, plugin.answer))
        .collect();
    let Outcome { requests, result } = create(
        row.profile()?,
        first.unwrap_or_default(),
        row.spec_before().clone(),
        &answers,
        host,
    );
    row.compare(requests, result.map(|(_, spec)| spec))
}

impl Row {
    /// Holds what came of the row's container against what came of it then.
    ///
    /// Two orders are not compared, because containerd's is not determined: that of the namespaces in a
    /// request once a plugin changed them, and that of mounts with one destination among more than twelve.
    ///
    /// # Errors
    /// [`Failure::Differs`].
    pub fn compare(
        &self,
        requests: Vec<CreateContainerRequest>,
        result: Result<Spec, CreateError>,
    ) -> Result<(), Failure> {
        let mut after = match result {
            Ok(spec) => json!({"spec": serde_json::to_value(spec)?}),
            Err(error) => match &error.reason {
                Reason::RuntimeDied(_) => json!({"containerd_died": true}),
                Reason::OciRuntime { spec, .. } => {
                    let spec = serde_json::to_value(spec)?;
                    json!({"spec": spec, REFUSAL: refusal(&error.to_string())})
                }
                _ => json!({"create_error": error.to_string(), "code": "UNKNOWN"}),
            },
        };
        let mut expected = self.outcome();
        // What the OCI runtime refused for want of something on its machine, nobody can tell here.
        if after.get(REFUSAL).is_some()
            && let Some(Value::String(text)) = self.after.get(REFUSAL)
        {
            expected[REFUSAL] = refusal(text).into();
        }
        order::settle_mounts(&mut expected, &mut after);
        let mut differences = difference::between(&expected, &after, "");
        for (plugin, mut request) in self.plugins().into_iter().zip(requests) {
            if let Some(mut expected) = plugin.request {
                order::settle_namespaces(&mut expected);
                order::settle_namespaces(&mut request);
                let at = format!("/request/{}", plugin.plugin);
                let [expected, request] = [expected, request].map(serde_json::to_value);
                differences.extend(difference::between(&expected?, &request?, &at));
            }
        }
        if differences.is_empty() {
            Ok(())
        } else {
            Err(Failure::Differs(differences))
        }
    }

    /// What came of it, without what was noted on the side.
    fn outcome(&self) -> Value {
        let fields = ["spec", "create_error", "code", "containerd_died"];
        let known = self
            .after
            .iter()
            .filter(|(field, _)| fields.contains(&field.as_str()));
        Value::Object(
            known
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect::<Map<_, _>>(),
        )
    }
}
