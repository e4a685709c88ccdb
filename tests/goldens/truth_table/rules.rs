//! A diagram as rules that a person can check.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::hash::Hash;

use super::diagram::{Diagram, Id, Node};
use super::dimensions::*;

/// The order in which rules ask: that of the decision.
const ORDER: [usize; COUNT] = [
    OPT_OUT,
    NAMESPACE,
    DAEMON,
    ALLOCATION,
    DEVICES,
    INFINIBAND,
    IMEX,
    VOLUME,
    DAEMON_STAGING,
    GATE,
    REQUIRE_STAGED,
    OVERLAY_STAGED,
    BINARY_STAGED,
    TOPOLOGY_STAGED,
    NODE_NAME,
    AUTHORED,
    MODE,
    USER_NAMESPACE,
    RUNTIME,
    CDI_STAGED,
    GPUS_STAGED,
    CHANNELS_STAGED,
];

/// A value that may be anything, since nobody asks.
type Rule = Option<String>;

/// Rules for a function of the leaves, where it says something. First what it depends on.
pub(crate) fn rules<L: Clone + Eq + Hash>(
    table: &Diagram<L>,
    root: Id,
    value: impl Fn(&L) -> Rule,
) -> String {
    let mut diagram = Diagram::new();
    let exact = table.map(root, &mut diagram, &value);
    let mut rules = Rules {
        diagram,
        order: ORDER.to_vec(),
    };
    let root = rules.ordered(exact, 0, &mut HashMap::new());
    rules.check(root, exact);
    let names = |dimensions: &BTreeSet<usize>| {
        let names = dimensions
            .iter()
            .map(|dimension| DIMENSIONS[*dimension].name);
        names.collect::<Vec<_>>().join(", ")
    };
    let support = rules.diagram.support(root);
    let mut text = match support.is_empty() {
        true => String::new(),
        false => format!("  depends on: {}\n", names(&support)),
    };
    rules.write(root, 1, &mut text);
    text
}

struct Rules {
    diagram: Diagram<Rule>,
    order: Vec<usize>,
}

impl Rules {
    /// The same function with the dimensions in the order of the decision. What may be anything is whatever
    /// makes fewer rules.
    fn ordered(&mut self, id: Id, depth: usize, done: &mut HashMap<(Id, usize), Id>) -> Id {
        let support = self.diagram.support(id);
        let Some(depth) = (depth..COUNT).find(|depth| support.contains(&self.order[*depth])) else {
            return id;
        };
        if let Some(ordered) = done.get(&(id, depth)) {
            return *ordered;
        }
        let dimension = self.order[depth];
        let mut merged: Vec<Id> = Vec::new();
        for value in 0..DIMENSIONS[dimension].values.len() {
            let child = self.diagram.restrict(id, dimension, value);
            let child = self.ordered(child, depth + 1, done);
            let known = (0..merged.len()).find_map(|at| Some((at, self.merge(merged[at], child)?)));
            match known {
                Some((at, both)) => {
                    let one = merged[at];
                    for same in merged.iter_mut().filter(|same| **same == one) {
                        *same = both;
                    }
                    merged.push(both);
                }
                None => merged.push(child),
            }
        }
        let ordered = self.diagram.branch(dimension, merged);
        done.insert((id, depth), ordered);
        ordered
    }

    /// A function that is both wherever they say something, if they never differ.
    fn merge(&mut self, one: Id, other: Id) -> Option<Id> {
        if one == other {
            return Some(one);
        }
        match (
            self.diagram.node(one).clone(),
            self.diagram.node(other).clone(),
        ) {
            (Node::Leaf(None), _) => Some(other),
            (_, Node::Leaf(None)) => Some(one),
            (Node::Leaf(_), Node::Leaf(_)) => None,
            (Node::Branch(at, children), Node::Branch(at_other, others)) if at == at_other => {
                let merged = children
                    .into_iter()
                    .zip(others)
                    .map(|(one, other)| self.merge(one, other));
                let merged: Option<Vec<Id>> = merged.collect();
                Some(self.diagram.branch(at, merged?))
            }
            (Node::Branch(at, children), Node::Branch(at_other, _))
                if self.earlier(at, at_other) =>
            {
                self.merge_into(at, children, other)
            }
            (Node::Branch(at, children), Node::Leaf(_)) => self.merge_into(at, children, other),
            (_, Node::Branch(at, children)) => self.merge_into(at, children, one),
        }
    }

    fn merge_into(&mut self, at: usize, children: Vec<Id>, other: Id) -> Option<Id> {
        let merged: Option<Vec<Id>> = children
            .into_iter()
            .map(|child| self.merge(child, other))
            .collect();
        Some(self.diagram.branch(at, merged?))
    }

    fn earlier(&self, one: usize, other: usize) -> bool {
        let place = |dimension| self.order.iter().position(|known| *known == dimension);
        place(one) < place(other)
    }

    /// The rules say what the table says.
    fn check(&mut self, rules: Id, exact: Id) {
        let mut checked = BTreeSet::new();
        let mut ahead = vec![(rules, exact)];
        while let Some((rules, exact)) = ahead.pop() {
            if rules == exact || !checked.insert((rules, exact)) {
                continue;
            }
            let dimension = match (self.diagram.node(exact), self.diagram.node(rules)) {
                (Node::Leaf(None), _) => continue,
                (Node::Branch(dimension, _), _) | (_, Node::Branch(dimension, _)) => *dimension,
                (Node::Leaf(exact), Node::Leaf(rule)) => panic!("{rule:?} is not {exact:?}"),
            };
            for value in 0..DIMENSIONS[dimension].values.len() {
                ahead.push((
                    self.diagram.restrict(rules, dimension, value),
                    self.diagram.restrict(exact, dimension, value),
                ));
            }
        }
    }

    fn write(&self, id: Id, indent: usize, text: &mut String) {
        match self.diagram.node(id) {
            Node::Leaf(rule) => {
                let rule = rule.as_deref().unwrap_or("never");
                writeln!(text, "{:indent$}{rule}", "", indent = indent * 2).unwrap();
            }
            Node::Branch(dimension, children) => {
                let dimension = &DIMENSIONS[*dimension];
                let mut distinct: Vec<Id> = Vec::new();
                distinct.extend(children.iter().filter(|child| {
                    let first = children.iter().position(|other| other == *child);
                    first.is_some_and(|first| std::ptr::eq(&children[first], *child))
                }));
                for child in distinct {
                    let values = children
                        .iter()
                        .zip(dimension.values)
                        .filter(|(id, _)| **id == child);
                    let values: Vec<&str> = values.map(|(_, value)| *value).collect();
                    write!(
                        text,
                        "{:indent$}{} = {}",
                        "",
                        dimension.name,
                        values.join(" | "),
                        indent = indent * 2
                    )
                    .unwrap();
                    match self.diagram.node(child) {
                        Node::Leaf(rule) => {
                            writeln!(text, ": {}", rule.as_deref().unwrap_or("never")).unwrap();
                        }
                        Node::Branch(..) => {
                            text.push('\n');
                            self.write(child, indent + 1, text);
                        }
                    }
                }
            }
        }
    }
}
