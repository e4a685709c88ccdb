//! A function of the dimensions, as a decision diagram: equal parts of it are one node.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::cell::Cell;

/// A node's place in its diagram.
pub(crate) type Id = usize;

/// A node of a diagram.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node<L> {
    /// The function's value.
    Leaf(L),
    /// A dimension, and where each of its values leads.
    Branch(usize, Vec<Id>),
}

/// Functions of the dimensions. Nodes are shared, so equal functions have equal places.
#[derive(Debug)]
pub(crate) struct Diagram<L> {
    nodes: Vec<Node<L>>,
    places: HashMap<Node<L>, Id>,
}

impl<L: Clone + Eq + Hash> Diagram<L> {
    /// No function yet.
    pub(crate) fn new() -> Self {
        Self {
            nodes: Vec::new(),
            places: HashMap::new(),
        }
    }

    /// The function that is the same everywhere.
    pub(crate) fn leaf(&mut self, leaf: L) -> Id {
        self.place(Node::Leaf(leaf))
    }

    /// The function that goes on by the value of a dimension.
    pub(crate) fn branch(&mut self, dimension: usize, children: Vec<Id>) -> Id {
        match children.iter().all(|child| *child == children[0]) {
            true => children[0],
            false => self.place(Node::Branch(dimension, children)),
        }
    }

    fn place(&mut self, node: Node<L>) -> Id {
        let next = self.nodes.len();
        let place = *self.places.entry(node.clone()).or_insert(next);
        if place == next {
            self.nodes.push(node);
        }
        place
    }

    /// The node at a place.
    pub(crate) fn node(&self, id: Id) -> &Node<L> {
        &self.nodes[id]
    }

    /// The function's value for one combination.
    pub(crate) fn value(&self, mut id: Id, cell: &Cell) -> &L {
        loop {
            match &self.nodes[id] {
                Node::Leaf(leaf) => return leaf,
                Node::Branch(dimension, children) => {
                    id = children[usize::from(cell.0[*dimension])];
                }
            }
        }
    }

    /// The dimensions that a function depends on.
    pub(crate) fn support(&self, id: Id) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut ahead = vec![id];
        let mut support = BTreeSet::new();
        while let Some(id) = ahead.pop() {
            if seen.insert(id)
                && let Node::Branch(dimension, children) = &self.nodes[id]
            {
                support.insert(*dimension);
                ahead.extend(children);
            }
        }
        support
    }

    /// The same function of each leaf, in another diagram.
    pub(crate) fn map<M: Clone + Eq + Hash>(
        &self,
        id: Id,
        to: &mut Diagram<M>,
        value: &impl Fn(&L) -> M,
    ) -> Id {
        self.map_from(id, to, value, &mut HashMap::new())
    }

    fn map_from<M: Clone + Eq + Hash>(
        &self,
        id: Id,
        to: &mut Diagram<M>,
        value: &impl Fn(&L) -> M,
        done: &mut HashMap<Id, Id>,
    ) -> Id {
        if let Some(mapped) = done.get(&id) {
            return *mapped;
        }
        let mapped = match &self.nodes[id] {
            Node::Leaf(leaf) => to.leaf(value(leaf)),
            Node::Branch(dimension, children) => {
                let children = children
                    .iter()
                    .map(|child| self.map_from(*child, to, value, done));
                let children = children.collect();
                to.branch(*dimension, children)
            }
        };
        done.insert(id, mapped);
        mapped
    }

    /// The function where a dimension has one value.
    pub(crate) fn restrict(&mut self, id: Id, dimension: usize, value: usize) -> Id {
        self.restrict_from(id, dimension, value, &mut HashMap::new())
    }

    fn restrict_from(&mut self, id: Id, at: usize, value: usize, done: &mut HashMap<Id, Id>) -> Id {
        if let Some(restricted) = done.get(&id) {
            return *restricted;
        }
        let restricted = match self.nodes[id].clone() {
            Node::Leaf(_) => id,
            Node::Branch(dimension, children) if dimension == at => {
                self.restrict_from(children[value], at, value, done)
            }
            Node::Branch(dimension, children) => {
                let children = children
                    .into_iter()
                    .map(|child| self.restrict_from(child, at, value, done));
                let children = children.collect();
                self.branch(dimension, children)
            }
        };
        done.insert(id, restricted);
        restricted
    }
}

impl<L: Clone + Eq + Hash + Ord> Diagram<L> {
    /// For each leaf the combination that leads to it with the fewest values out of the ordinary.
    pub(crate) fn examples(&self, id: Id) -> BTreeMap<L, Cell> {
        self.examples_from(id, &mut HashMap::new())
    }

    fn examples_from(
        &self,
        id: Id,
        done: &mut HashMap<Id, BTreeMap<L, Cell>>,
    ) -> BTreeMap<L, Cell> {
        if let Some(examples) = done.get(&id) {
            return examples.clone();
        }
        let mut examples: BTreeMap<L, Cell> = BTreeMap::new();
        match &self.nodes[id] {
            Node::Leaf(leaf) => {
                examples.insert(leaf.clone(), Cell::default());
            }
            Node::Branch(dimension, children) => {
                for (value, child) in children.iter().enumerate() {
                    for (leaf, mut cell) in self.examples_from(*child, done) {
                        cell.0[*dimension] = u8::try_from(value).unwrap();
                        let known = examples.entry(leaf).or_insert_with(|| cell.clone());
                        if rank(&cell) < rank(known) {
                            *known = cell;
                        }
                    }
                }
            }
        }
        done.insert(id, examples.clone());
        examples
    }
}

/// Fewest oddities first, then in the order of the dimensions.
pub(crate) fn rank(cell: &Cell) -> (usize, &Cell) {
    (cell.0.iter().filter(|value| **value != 0).count(), cell)
}
