//! Where two JSON values differ.

use std::fmt;

use serde_json::Value;

/// One place at which an outcome is not the recorded one.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer.
    pub at: String,
    /// What was recorded there, if anything.
    pub expected: Option<Value>,
    /// What came of it here, if anything.
    pub is: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "nothing".to_owned(),
        };
        write!(
            f,
            "{}: recorded {}, here {}",
            self.at,
            text(&self.expected),
            text(&self.is)
        )
    }
}

/// Every difference, as deep as possible; lists of different lengths are one.
pub(super) fn between(expected: &Value, is: &Value, at: &str) -> Vec<Difference> {
    let pairs: Vec<(String, Option<&Value>, Option<&Value>)> = match (expected, is) {
        (Value::Object(a), Value::Object(b)) => {
            let only_b = b.keys().filter(|key| !a.contains_key(*key));
            let keys = a.keys().chain(only_b);
            keys.map(|key| {
                (
                    key.replace('~', "~0").replace('/', "~1"),
                    a.get(key),
                    b.get(key),
                )
            })
            .collect()
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let items = a.iter().zip(b).enumerate();
            items
                .map(|(n, (a, b))| (n.to_string(), Some(a), Some(b)))
                .collect()
        }
        (a, b) if a == b => return Vec::new(),
        (a, b) => {
            return vec![Difference {
                at: at.to_owned(),
                expected: Some(a.clone()),
                is: Some(b.clone()),
            }];
        }
    };
    let found = pairs.into_iter().flat_map(|(key, expected, is)| {
        let at = format!("{at}/{key}");
        match (expected, is) {
            (Some(expected), Some(is)) => between(expected, is, &at),
            (expected, is) => vec![Difference {
                at,
                expected: expected.cloned(),
                is: is.cloned(),
            }],
        }
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(expected: &Value, is: &Value) -> Vec<String> {
        let differences = between(expected, is, "");
        differences.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_values_do_not_differ() {
        let value = json!({"a": [1, {"b": null}]});
        assert_eq!(lines(&value, &value), [""; 0]);
    }

    #[test]
    fn a_difference_is_told_where_it_is() {
        assert_eq!(
            lines(
                &json!({"a/b": [1, {"c": 2}], "gone": 1}),
                &json!({"a/b": [1, {"c": 3}], "new": true}),
            ),
            [
                "/a~1b/1/c: recorded 2, here 3",
                "/gone: recorded 1, here nothing",
                "/new: recorded nothing, here true",
            ]
        );
    }

    #[test]
    fn lists_of_different_lengths_are_one_difference() {
        assert_eq!(
            lines(&json!([1, 2]), &json!([2])),
            [": recorded [1,2], here [2]"]
        );
    }
}
