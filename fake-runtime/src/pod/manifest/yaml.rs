//! YAML, and JSON as a part of it, as a tree that knows its lines.
//!
//! Parsed by the crate below serde-saphyr, which is not used here: it takes an unquoted `true` for a text where a text
//! is asked for, and that is just what the API server refuses. Scalars are what kubectl takes them for: see
//! [`scalar`].

mod merge;
mod scalar;

use std::collections::HashMap;

use crate::one_line::on_one_line;
use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub(super) use scalar::Scalar;

/// The most nodes of one document, aliases counted each time: ten of them can stand for a billion.
const MAX_NODES: usize = 1 << 20;

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) content: Content,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// A value by itself.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// Fields, in order.
    Map(Vec<Field>),
}

/// A field of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// Its name.
    pub(crate) name: String,
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    /// Its value.
    pub(crate) value: Node,
}

/// What is wrong with a document, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", on_one_line(.what))]
pub struct At {
    /// Counted from 1.
    pub line: usize,
    /// In one line.
    pub what: String,
}

impl At {
    pub(super) fn new(line: usize, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { line, what }
    }
}

impl From<ScanError> for At {
    fn from(error: ScanError) -> Self {
        Self::new(error.marker().line(), error.info())
    }
}

impl Node {
    /// A field of a map.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let field = self.fields().iter().find(|field| field.name == name)?;
        Some(&field.value)
    }

    /// The fields of a map; of anything else none.
    pub(crate) fn fields(&self) -> &[Field] {
        match &self.content {
            Content::Map(fields) => fields,
            Content::Scalar(_) | Content::List(_) => &[],
        }
    }

    /// The items of a list; of anything else none.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.content {
            Content::List(items) => items,
            Content::Scalar(_) | Content::Map(_) => &[],
        }
    }

    /// The text of a scalar that is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar(Scalar::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        self.content == Content::Scalar(Scalar::Null)
    }

    /// The node as a type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, At> {
        serde_json::from_value(self.to_json())
            .map_err(|error| At::new(self.line, error.to_string()))
    }

    /// The same without lines.
    pub(crate) fn to_json(&self) -> Value {
        match &self.content {
            Content::Scalar(scalar) => scalar.to_json(),
            Content::List(items) => items.iter().map(Self::to_json).collect(),
            Content::Map(fields) => {
                let field = |field: &Field| (field.name.clone(), field.value.to_json());
                Value::Object(fields.iter().map(field).collect::<Map<_, _>>())
            }
        }
    }
}

/// Every document of a text that is not empty.
pub(crate) fn documents(text: &str) -> Result<Vec<Node>, At> {
    let mut builder = Builder::default();
    let mut documents = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event?;
        if let Some(document) = builder.event(event, span)?
            && !document.is_null()
        {
            documents.push(document);
        }
    }
    Ok(documents)
}

/// Builds a document from what the parser tells.
#[derive(Default)]
struct Builder {
    /// Lists and maps that have begun.
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    done: Option<Node>,
}

struct Open {
    line: usize,
    anchor: usize,
    /// How many nodes there were before it.
    before: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    /// And the name of a field whose value is not there yet.
    Map(Vec<Field>, Option<(String, usize)>),
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: Span) -> Result<Option<Node>, At> {
        let line = span.start.line();
        match event {
            Event::DocumentStart(..) => {
                self.anchors.clear();
                self.nodes = 0;
            }
            Event::DocumentEnd => return Ok(self.done.take()),
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let scalar = Scalar::of(&text, plain, tag.as_deref());
                let content = Content::Scalar(scalar);
                self.node(Node { line, content }, anchor, 1)?;
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open(line, anchor, Items::List(Vec::new()));
            }
            Event::MappingStart(_, anchor, _) => {
                self.open(line, anchor, Items::Map(Vec::new(), None));
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(anchor) => {
                let (node, size) = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or_else(|| At::new(line, "an alias within its own anchor"))?;
                self.node(node, 0, size)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn open(&mut self, line: usize, anchor: usize, items: Items) {
        let before = self.nodes;
        self.open.push(Open {
            line,
            anchor,
            before,
            items,
        });
    }

    fn close(&mut self) -> Result<(), At> {
        // The parser ends nothing that has not begun.
        let Some(Open {
            line,
            anchor,
            before,
            items,
        }) = self.open.pop()
        else {
            return Ok(());
        };
        let content = match items {
            Items::List(items) => Content::List(items),
            Items::Map(fields, _) => Content::Map(merge::merged(fields)?),
        };
        let inside = self.nodes - before;
        self.nodes = before;
        self.node(Node { line, content }, anchor, inside + 1)
    }

    /// Puts a node where it belongs; with all that is in it, it is as many as `size`.
    fn node(&mut self, node: Node, anchor: usize, size: usize) -> Result<(), At> {
        self.nodes += size;
        if self.nodes > MAX_NODES {
            return Err(At::new(node.line, "more nodes than a manifest can have"));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.done = Some(node),
            Some(Items::List(items)) => items.push(node),
            Some(Items::Map(fields, name)) => match name.take() {
                Some((name, line)) => fields.push(Field {
                    name,
                    line,
                    value: node,
                }),
                None => {
                    let Content::Scalar(scalar) = &node.content else {
                        let what = "a list or a map is no name of a field";
                        return Err(At::new(node.line, what));
                    };
                    *name = Some((scalar.to_text(), node.line));
                }
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        documents(text).unwrap().remove(0).to_json()
    }

    #[test]
    fn nodes_know_their_lines() {
        let document = documents("a: 1\nb:\n- c\n- d: e\n").unwrap().remove(0);
        let list = document.get("b").unwrap();
        assert_eq!(list.items()[0].line, 3);
        assert_eq!(list.items()[1].fields()[0].line, 4);
    }

    #[test]
    fn empty_documents_are_none() {
        assert_eq!(
            documents("---\n---\n# nothing\n---\na: 1\n").unwrap().len(),
            1
        );
        assert_eq!(documents("").unwrap(), []);
    }

    #[test]
    fn aliases_stand_for_what_their_anchor_does_and_merge_keys_add_fields() {
        let text = "a: &x {k: 1, l: 2}\nb: *x\nc:\n  <<: *x\n  k: 3\n";
        assert_eq!(
            json(text),
            serde_json::json!({"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 2}, "c": {"l": 2, "k": 3}})
        );
    }

    #[test]
    fn aliases_of_aliases_come_to_an_end() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let last = n - 1;
            let refs = vec![format!("*a{last}"); 10].join(", ");
            text += &format!("a{n}: &a{n} [{refs}]\n");
        }
        let error = documents(&text).unwrap_err();
        assert_eq!(error.what, "more nodes than a manifest can have");
    }

    #[test]
    fn what_is_no_yaml_is_told_with_its_line() {
        let error = documents("a: 1\nb: [\n").unwrap_err().to_string();
        assert!(error.starts_with("line "), "{error}");
        let error = documents("{{ .Values.x }}: 1").unwrap_err().to_string();
        assert_eq!(error, "line 1: a list or a map is no name of a field");
    }
}
