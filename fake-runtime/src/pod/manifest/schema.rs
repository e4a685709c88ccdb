//! What the API server would say of a document: which fields it does not know, and which are not what they must be.
//!
//! The fields are a table, `fields.txt`, and not the types of k8s-openapi: these take 43 seconds of processor time to
//! compile, against a fifth of that for all of this crate's other dependencies on YAML and JSON, and say neither in
//! which line a field is wrong nor more than the first of them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::yaml::{At, Content, Node, Scalar};
use crate::pod::quantity::Quantity;

/// What was found in a document.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// What the API server refuses.
    pub(super) refused: Vec<At>,
    /// What it warns of, and reads over.
    pub(super) warned: Vec<At>,
}

/// Holds a document against a type: `Pod`. Of a type that is not in the table, nothing is known to be wrong.
pub(super) fn check(document: &Node, kind: &str) -> Findings {
    let mut checker = Checker {
        path: String::new(),
        findings: Findings::default(),
    };
    if let Some(fields) = TYPES.get(kind) {
        checker.object(document, fields);
    }
    checker.findings
}

type Fields = HashMap<&'static str, Kind>;

/// What a value must be.
#[derive(Clone, Debug)]
enum Kind {
    Text,
    Bool,
    Int,
    IntOrText,
    Quantity,
    Any,
    OneOf(Vec<&'static str>),
    List(Box<Self>),
    Map(Box<Self>),
    Object(&'static str),
}

static TYPES: LazyLock<HashMap<&'static str, Fields>> = LazyLock::new(|| {
    let lines = include_str!("schema/fields.txt").lines();
    let lines = lines.filter_map(|line| line.split_once(": ").filter(|_| !line.starts_with('#')));
    let field = |field: &'static str| match field.split_once(':') {
        Some((name, kind)) => (name, Kind::of(kind)),
        None => (field, Kind::Text),
    };
    lines
        .map(|(name, fields)| (name, fields.split(' ').map(field).collect()))
        .collect()
});

impl Kind {
    fn of(text: &'static str) -> Self {
        let inside = |open, close| text.strip_prefix(open)?.strip_suffix(close);
        if let Some(item) = inside('[', ']') {
            return Self::List(Box::new(Self::of(item)));
        }
        if let Some(item) = inside('{', '}') {
            return Self::Map(Box::new(Self::of(item)));
        }
        match text {
            "string" => Self::Text,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "intstr" => Self::IntOrText,
            "quantity" => Self::Quantity,
            "any" => Self::Any,
            _ if text.contains('|') => Self::OneOf(text.split('|').collect()),
            name => Self::Object(name),
        }
    }

    fn expected(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Int => "a whole number".to_owned(),
            Self::IntOrText => "a whole number or a text".to_owned(),
            Self::Quantity => "a quantity such as 500m, 2 or 128Mi".to_owned(),
            Self::Any => "anything".to_owned(),
            Self::OneOf(texts) => format!("one of {}", texts.join(", ")),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) | Self::Object(_) => "a map".to_owned(),
        }
    }
}

struct Checker {
    /// Of the value that is looked at: `spec.containers[0].env[1].value`.
    path: String,
    findings: Findings,
}

impl Checker {
    fn object(&mut self, node: &Node, known: &Fields) {
        let fields = node.fields();
        for (index, field) in fields.iter().enumerate() {
            let before = self.path.len();
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path += &field.name;
            if fields[..index].iter().any(|it| it.name == field.name) {
                self.warn(field.line, "stands there twice, and the last one counts");
            }
            match known.get(field.name.as_str()) {
                Some(kind) => self.value(&field.value, kind),
                None => match nearest(&field.name, known) {
                    Some(name) => self.warn(field.line, &format!("is no field: {name} is")),
                    None => self.warn(field.line, "is no field that Kubernetes knows"),
                },
            }
            self.path.truncate(before);
        }
    }

    fn value(&mut self, node: &Node, kind: &Kind) {
        if node.is_null() {
            return;
        }
        match (kind, &node.content) {
            (Kind::Any, _)
            | (Kind::Text | Kind::IntOrText, Content::Scalar(Scalar::Text(_)))
            | (Kind::Bool, Content::Scalar(Scalar::Bool(..))) => {}
            (Kind::Int | Kind::IntOrText, Content::Scalar(Scalar::Number(number, _)))
                if number.is_i64() || number.as_f64().is_some_and(|it| it.fract() == 0.0) => {}
            (Kind::Quantity, Content::Scalar(Scalar::Text(text) | Scalar::Number(_, text)))
                if Quantity::parse(text).is_some() => {}
            (Kind::OneOf(texts), Content::Scalar(Scalar::Text(text)))
                if text.is_empty() || texts.contains(&text.as_str()) => {}
            (Kind::List(item), Content::List(items)) => {
                for (index, node) in items.iter().enumerate() {
                    self.within(&format!("[{index}]"), |it| it.value(node, item));
                }
            }
            (Kind::Map(item), Content::Map(fields)) => {
                for field in fields {
                    self.within(&format!("[{:?}]", field.name), |it| {
                        it.value(&field.value, item);
                    });
                }
            }
            (Kind::Object(name), Content::Map(_)) => {
                if let Some(fields) = TYPES.get(name) {
                    self.object(node, fields);
                }
            }
            _ => self.refuse(node, kind),
        }
    }

    fn within(&mut self, part: &str, check: impl FnOnce(&mut Self)) {
        let before = self.path.len();
        self.path += part;
        check(self);
        self.path.truncate(before);
    }

    fn warn(&mut self, line: usize, what: &str) {
        let what = format!("{} {what}", self.path);
        self.findings.warned.push(At::new(line, what));
    }

    fn refuse(&mut self, node: &Node, kind: &Kind) {
        let Self { path, findings } = self;
        let expected = kind.expected();
        let what = match (&node.content, kind) {
            (Content::Scalar(Scalar::Bool(_, written)), Kind::Text) => {
                format!("{path} is a boolean where {expected} is needed: quote it, \"{written}\"")
            }
            (Content::Scalar(Scalar::Number(_, written)), Kind::Text) => {
                format!("{path} is a number where {expected} is needed: quote it, \"{written}\"")
            }
            (Content::Scalar(Scalar::Text(text)), Kind::Bool | Kind::Int) => {
                format!("{path} is the text {text:?} where {expected} is needed")
            }
            (Content::Scalar(scalar), _) => {
                format!("{path} is {} and must be {expected}", scalar.written())
            }
            (Content::List(_), _) => format!("{path} is a list and must be {expected}"),
            (Content::Map(_), _) => format!("{path} is a map and must be {expected}"),
        };
        findings.refused.push(At::new(node.line, what));
    }
}

/// The field that somebody may have meant: letters in another case, one letter too few, too many, or another.
fn nearest(name: &str, known: &Fields) -> Option<&'static str> {
    let mut near: Vec<_> = known.keys().filter(|it| distance(name, it) <= 2).collect();
    near.sort_by_key(|it| (distance(name, it), **it));
    near.first().copied().copied()
}

/// How many letters to change, to leave out or to put in, whatever their case.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::super::yaml::documents;
    use super::*;

    fn found(text: &str) -> (Vec<String>, Vec<String>) {
        let document = documents(text).unwrap().remove(0);
        let Findings { refused, warned } = check(&document, "Pod");
        let lines = |all: Vec<At>| all.iter().map(ToString::to_string).collect();
        (lines(refused), lines(warned))
    }

    #[test]
    fn every_type_that_a_field_has_is_in_the_table() {
        fn names(kind: &Kind) -> Option<&'static str> {
            match kind {
                Kind::List(item) | Kind::Map(item) => names(item),
                Kind::Object(name) => Some(name),
                _ => None,
            }
        }
        let kinds = TYPES.values().flat_map(HashMap::values);
        for name in kinds.filter_map(names) {
            assert!(TYPES.contains_key(name), "{name}");
        }
        assert!(TYPES.len() > 100);
    }

    #[test]
    fn what_is_not_quoted_is_refused_with_line_and_mend() {
        let text = "metadata:
  labels: {a: on}
  annotations:
    nvml-mock.nvidia.com/devices: true
spec:
  containers:
  - name: c
    env:
    - {name: A, value: 1}
    command: [sleep, 5]
";
        assert_eq!(
            found(text).0,
            [
                r#"line 2: metadata.labels["a"] is a boolean where a text is needed: quote it, "on""#,
                r#"line 4: metadata.annotations["nvml-mock.nvidia.com/devices"] is a boolean where a text is needed: quote it, "true""#,
                r#"line 9: spec.containers[0].env[0].value is a number where a text is needed: quote it, "1""#,
                r#"line 10: spec.containers[0].command[1] is a number where a text is needed: quote it, "5""#,
            ]
        );
    }

    #[test]
    fn fields_that_nobody_knows_are_warned_of() {
        let text = "metadata: {lables: {}}
spec:
  volume: []
  containers:
  - name: c
    name: d
    resources: {limit: {}}
    livenessProbe: {httpGet: {pth: /}}
    bogus: 1
";
        let (refused, warned) = found(text);
        assert_eq!(refused, [""; 0]);
        assert_eq!(
            warned,
            [
                "line 1: metadata.lables is no field: labels is",
                "line 3: spec.volume is no field: volumes is",
                "line 6: spec.containers[0].name stands there twice, and the last one counts",
                "line 7: spec.containers[0].resources.limit is no field: limits is",
                "line 8: spec.containers[0].livenessProbe.httpGet.pth is no field: path is",
                "line 9: spec.containers[0].bogus is no field that Kubernetes knows",
            ]
        );
    }

    #[test]
    fn other_kinds_of_values_are_refused() {
        for (field, said) in [
            (
                "hostNetwork: \"true\"",
                "the text \"true\" where true or false is needed",
            ),
            ("hostNetwork: 1", "1 and must be true or false"),
            (
                "priority: high",
                "the text \"high\" where a whole number is needed",
            ),
            ("containers: {}", "a map and must be a list"),
            (
                "overhead: {cpu: 1_000}",
                "1_000 and must be a quantity such as 500m, 2 or 128Mi",
            ),
            (
                "overhead: {cpu: 12 Ti}",
                "\"12 Ti\" and must be a quantity such as 500m, 2 or 128Mi",
            ),
        ] {
            let refused = found(&format!("spec: {{{field}}}")).0;
            assert!(refused[0].ends_with(said), "{refused:?}");
        }
        let good = "spec: {hostNetwork: true, priority: 1, overhead: {cpu: 1e3, memory: 12Ti}, volumes: null}";
        assert_eq!(found(good).0, [""; 0]);
    }
}
