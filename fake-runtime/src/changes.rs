//! What changed in a container's OCI spec, item by item, for people and for scripts.

mod ignored;
mod list;
mod text;

use std::fmt;

use crate::one_line::on_one_line;
pub use ignored::ignored;
use serde::Serialize;
use serde_json::Value;

use crate::oci::Spec;

/// One thing that an adjustment changed in a spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// What it is a change of: `mount`, `env`, `device`, `device rule`, `annotation`, or where in the spec.
    pub what: String,
    /// Which of them: a destination, a name, a path. Empty where there is only one.
    pub key: String,
    /// What stood there before; `None` for nothing.
    pub before: Option<Value>,
    /// What stands there now; `None` for nothing.
    pub after: Option<Value>,
}

/// Whether something came, went, or is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It was not there before.
    Added,
    /// It is not there any more.
    Removed,
    /// It was there, and was otherwise.
    Changed,
}

impl Change {
    /// Whether it came, went, or is another.
    #[must_use]
    pub fn sign(&self) -> Sign {
        match (&self.before, &self.after) {
            (None, _) => Sign::Added,
            (_, None) => Sign::Removed,
            _ => Sign::Changed,
        }
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
        })
    }
}

impl fmt::Display for Change {
    /// As one line: `+ mount /opt/nvml-mock from /var/lib/nvml-mock (bind, rbind rprivate ro nosuid nodev)`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.sign(), on_one_line(&text::text(self)))
    }
}

/// Everything that differs between two specs: first what plugins change most, in the order in which a container
/// meets it, then the rest. An order of mounts or variables that changed is not a change.
#[must_use]
pub fn changes(before: &Spec, after: &Spec) -> Vec<Change> {
    // A spec is a JSON document by its nature; there is no value that serde_json could refuse.
    let [mut before, mut after] =
        [before, after].map(|spec| serde_json::to_value(spec).unwrap_or_default());
    let mut changes = Vec::new();
    for list in list::LISTS {
        changes.extend(list.changes(&list.take(&mut before), &list.take(&mut after)));
    }
    others("", &before, &after, &mut changes);
    changes
}

/// What differs below `at`, as deep as there are objects on both sides.
fn others(at: &str, before: &Value, after: &Value, changes: &mut Vec<Change>) {
    if let (Value::Object(a), Value::Object(b)) = (before, after) {
        let only_after = b.keys().filter(|key| !a.contains_key(*key));
        for key in a.keys().chain(only_after) {
            let inner = if at.is_empty() {
                key.clone()
            } else {
                format!("{at}.{key}")
            };
            let absent = &Value::Null;
            others(
                &inner,
                a.get(key).unwrap_or(absent),
                b.get(key).unwrap_or(absent),
                changes,
            );
        }
    } else if before != after && !(is_nothing(at, before) && is_nothing(at, after)) {
        let side = |value: &Value| (!value.is_null()).then(|| value.clone());
        let (what, key) = match at.split_once('.') {
            Some(("annotations", key)) => ("annotation", key),
            _ => (at, ""),
        };
        changes.push(Change {
            what: what.to_owned(),
            key: key.to_owned(),
            before: side(before),
            after: side(after),
        });
    }
}

/// Absent, or an object of nothing but lists that were taken out of it. A map from names, as that of net devices, is
/// something even where nothing is said of what is named.
fn is_nothing(at: &str, value: &Value) -> bool {
    const HOLD_LISTS: [&str; 4] = ["hooks", "linux", "linux.resources", "process"];
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) if HOLD_LISTS.contains(&at) => fields
            .iter()
            .all(|(key, value)| is_nothing(&format!("{at}.{key}"), value)),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use nri_proto::api::Container;
    use serde_json::json;

    use super::*;

    fn spec(with: Value) -> Spec {
        let profile: &crate::profile::Profile = Default::default();
        let mut spec = serde_json::to_value(Spec::of(&Container::default(), profile)).unwrap();
        for (pointer, value) in with.as_object().unwrap() {
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            spec.pointer_mut(parent).unwrap()[field] = value.clone();
        }
        serde_json::from_value(spec).unwrap()
    }

    fn lines(before: Value, after: Value) -> Vec<String> {
        changes(&spec(before), &spec(after))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn each_kind_of_change_is_one_line_for_people() {
        let before = json!({
            "/process/env": ["PATH=/bin", "GONE=1"],
            "/annotations": { "a": "1" },
        });
        let after = json!({
            "/process/env": ["PATH=/opt/bin:/bin", "NEW=x=y"],
            "/mounts": [{ "destination": "/opt", "source": "/src", "type": "bind", "options": ["rbind", "ro"] }],
            "/annotations": { "a": "2" },
            "/linux": {
                "devices": [{ "path": "/dev/nvidia0", "type": "c", "major": 195, "fileMode": 438, "uid": 0, "gid": 44 }],
                "resources": { "devices": [{ "allow": true, "type": "c", "major": 195, "minor": 0, "access": "rw" }] },
                "intelRdt": { "closID": "gold" },
            },
        });
        assert_eq!(
            lines(before, after),
            [
                "+ mount /opt from /src (bind, rbind ro)",
                "~ env PATH=/opt/bin:/bin, was /bin",
                "- env GONE=1",
                "+ env NEW=x=y",
                "+ device /dev/nvidia0 (c 195:0, mode 0666, owner 0:44)",
                "+ device rule allow c 195:0 rw",
                "~ annotation a=2, was 1",
                r#"+ linux.intelRdt {"closID":"gold"}"#,
            ]
        );
    }

    #[test]
    fn a_net_device_that_keeps_its_name_is_a_change() {
        let with = json!({ "/linux": { "netDevices": { "eth1": {} } } });
        assert_eq!(
            lines(json!({}), with),
            [r#"+ linux.netDevices {"eth1":{}}"#]
        );
    }

    #[test]
    fn nothing_differs_where_only_the_order_does() {
        let env = |list: [&str; 2]| json!({ "/process/env": list });
        assert!(lines(env(["A=1", "B=2"]), env(["B=2", "A=1"])).is_empty());
    }

    #[test]
    fn of_a_name_that_stands_twice_each_is_compared_by_itself() {
        let env = |second: &str| json!({ "/process/env": ["A=1", second] });
        assert_eq!(lines(env("A=2"), env("A=3")), ["~ env A=3, was 2"]);
    }
}
