//! Lists in a spec whose items have a name of their own, by which they are compared.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Change;

/// A list, and how its items are named.
pub(super) struct List {
    /// JSON pointer of what holds it.
    parent: &'static str,
    field: &'static str,
    /// What one item is.
    what: &'static str,
    key: fn(&Value) -> String,
}

pub(super) const LISTS: &[List] = &[
    List {
        parent: "",
        field: "mounts",
        what: "mount",
        key: |item| text(item, "destination"),
    },
    List {
        parent: "/process",
        field: "env",
        what: "env",
        key: variable,
    },
    List {
        parent: "/linux",
        field: "devices",
        what: "device",
        key: |item| text(item, "path"),
    },
    List {
        parent: "/linux/resources",
        field: "devices",
        what: "device rule",
        key: Value::to_string,
    },
    List {
        parent: "/linux",
        field: "namespaces",
        what: "namespace",
        key: |item| text(item, "type"),
    },
    List {
        parent: "/process",
        field: "rlimits",
        what: "rlimit",
        key: |item| text(item, "type"),
    },
    List {
        parent: "/hooks",
        field: "prestart",
        what: "prestart hook",
        key: Value::to_string,
    },
    List {
        parent: "/hooks",
        field: "createRuntime",
        what: "createRuntime hook",
        key: Value::to_string,
    },
    List {
        parent: "/hooks",
        field: "createContainer",
        what: "createContainer hook",
        key: Value::to_string,
    },
    List {
        parent: "/hooks",
        field: "startContainer",
        what: "startContainer hook",
        key: Value::to_string,
    },
    List {
        parent: "/hooks",
        field: "poststart",
        what: "poststart hook",
        key: Value::to_string,
    },
    List {
        parent: "/hooks",
        field: "poststop",
        what: "poststop hook",
        key: Value::to_string,
    },
];

impl List {
    /// Takes the list out of a spec.
    pub(super) fn take(&self, spec: &mut Value) -> Vec<Value> {
        let list = spec
            .pointer_mut(self.parent)
            .and_then(Value::as_object_mut)
            .and_then(|parent| parent.remove(self.field));
        match list {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// What differs: first along the items of before, then those that are new.
    pub(super) fn changes(&self, before: &[Value], after: &[Value]) -> Vec<Change> {
        let mut left = self.by_name(after);
        let mut changes = Vec::new();
        for (name, item) in self.by_name(before) {
            let now = left
                .iter()
                .position(|(other, _)| *other == name)
                .map(|at| left.remove(at).1);
            if now != Some(item) {
                changes.push(self.change(name, Some(item), now));
            }
        }
        changes.extend(
            left.into_iter()
                .map(|(name, item)| self.change(name, None, Some(item))),
        );
        changes
    }

    fn change(&self, name: Name, before: Option<&Value>, after: Option<&Value>) -> Change {
        Change {
            what: self.what.to_owned(),
            key: name.key,
            before: before.cloned(),
            after: after.cloned(),
        }
    }

    fn by_name<'a>(&self, items: &'a [Value]) -> Vec<(Name, &'a Value)> {
        let mut seen = BTreeMap::new();
        let name = |item: &'a Value| {
            let key = (self.key)(item);
            let nth = seen
                .entry(key.clone())
                .and_modify(|nth| *nth += 1)
                .or_insert(0);
            (Name { key, nth: *nth }, item)
        };
        items.iter().map(name).collect()
    }
}

/// An item's name; of several with one key, which of them.
#[derive(PartialEq, Eq)]
struct Name {
    key: String,
    nth: usize,
}

fn text(item: &Value, field: &str) -> String {
    item[field].as_str().unwrap_or_default().to_owned()
}

fn variable(item: &Value) -> String {
    let item = item.as_str().unwrap_or_default();
    item.split_once('=')
        .map_or(item, |(name, _)| name)
        .to_owned()
}
