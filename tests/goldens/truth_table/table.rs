//! Running the stages, and putting their results together.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use nri_model::World;
use nri_plugin::config::Config;
use nri_plugin::convert::{self, Asked};
use nri_plugin::decide::Selection;

use super::cell::Cell;
use super::diagram::{Diagram, Id};
use super::dimensions::*;
use super::leaf::Leaf;
use crate::plugin::{self, Disk};

/// The answer to every combination.
#[derive(Debug)]
pub(crate) struct Table {
    /// What it is made of.
    pub(crate) diagram: Diagram<Leaf>,
    /// Where it starts.
    pub(crate) root: Id,
    selections: usize,
    decisions: usize,
}

/// The first dimension that the command line, rather than the request, decides.
const FIRST_OF_COMMAND_LINE: usize = MODE;
/// The first dimension that neither the request nor the command line decides.
const FIRST_OF_WORLD: usize = RUNTIME;

/// Work in progress: what the stages were handed, and what came of it.
struct Builder {
    table: Table,
    configs: HashMap<Cell, Rc<Config>>,
    worlds: HashMap<Cell, World>,
    /// What comes of a selection that is left alone, or meets a closed gate.
    untouched: Vec<(Selection, Id)>,
    /// By configuration, container and selection: all that a decision is handed, but for the world.
    decided: HashMap<(Cell, Cell, String), Id>,
    /// Which dimensions of the world a decision has looked at.
    looked_at: [bool; COUNT],
}

impl Table {
    /// Runs every stage for everything that it can be handed.
    pub(crate) fn build() -> Self {
        let table = Self {
            diagram: Diagram::new(),
            root: 0,
            selections: 0,
            decisions: 0,
        };
        let mut builder = Builder {
            table,
            configs: HashMap::new(),
            worlds: HashMap::new(),
            untouched: Vec::new(),
            decided: HashMap::new(),
            looked_at: [false; COUNT],
        };
        let root = builder.requests(0, &mut Cell::default());
        Self {
            root,
            ..builder.table
        }
    }

    /// The answer to one combination.
    pub(crate) fn leaf(&self, cell: &Cell) -> &Leaf {
        self.diagram.value(self.root, cell)
    }

    /// How large it is, for people.
    pub(crate) fn size(&self) -> String {
        let combinations: u64 = DIMENSIONS
            .iter()
            .map(|dimension| dimension.values.len() as u64)
            .product();
        let leaves = self.diagram.examples(self.root);
        let adjustments: BTreeSet<_> = leaves.keys().map(|leaf| &leaf.adjustment).collect();
        let verdicts: BTreeSet<_> = leaves.keys().map(|leaf| &leaf.verdict).collect();
        let mut text = String::new();
        for dimension in &DIMENSIONS {
            text += &format!("{:>26}: {}\n", dimension.name, dimension.values.join(" | "));
        }
        text + &format!(
            "\n{combinations} combinations, from {} selections and {} decisions\n\
                 {} verdicts, {} adjustments, {} answers with their warnings\n",
            self.selections,
            self.decisions,
            verdicts.len(),
            adjustments.len() - 1,
            leaves.len(),
        )
    }
}

impl Builder {
    /// Goes through what a request can be.
    fn requests(&mut self, dimension: usize, cell: &mut Cell) -> Id {
        if dimension == FIRST_OF_COMMAND_LINE {
            let request = plugin::request(Some(&cell.pod()), Some(&cell.container()));
            // No command line gives the annotations other names, which is all that reading depends on.
            let config = self.config(&part(cell, FIRST_OF_COMMAND_LINE..FIRST_OF_WORLD));
            let asked = convert::asked(&config, &request).unwrap();
            return self.command_lines(dimension, cell, &asked);
        }
        self.each(dimension, cell, |builder, cell| {
            builder.requests(dimension + 1, cell)
        })
    }

    /// Goes through what a command line can be, and selects.
    fn command_lines(&mut self, dimension: usize, cell: &mut Cell, asked: &Asked) -> Id {
        if dimension < FIRST_OF_WORLD {
            return self.each(dimension, cell, |builder, cell| {
                builder.command_lines(dimension + 1, cell, asked)
            });
        }
        let flags = part(cell, FIRST_OF_COMMAND_LINE..FIRST_OF_WORLD);
        let config = self.config(&flags);
        let selection = plugin::select(&config, asked);
        self.table.selections += 1;
        // Neither of these looks at the disk or the runtime.
        let left_alone = matches!(selection, Selection::LeaveAlone { .. });
        if left_alone || DIMENSIONS[GATE].values[usize::from(cell.0[GATE])] == "closed" {
            return self.untouched(&config, cell, asked, selection);
        }
        let mut container = Cell::default();
        for part in [DAEMON, ALLOCATION, VOLUME, USER_NAMESPACE, AUTHORED] {
            container.0[part] = cell.0[part];
        }
        let handed = (flags, container, format!("{selection:?}"));
        if let Some(id) = self.decided.get(&handed) {
            return *id;
        }
        let id = self.worlds(dimension, cell, &config, asked, &selection);
        self.decided.insert(handed, id);
        id
    }

    /// The answer that the selection alone decides.
    fn untouched(
        &mut self,
        config: &Config,
        cell: &Cell,
        asked: &Asked,
        selection: Selection,
    ) -> Id {
        let known = self.untouched.iter().find(|(known, _)| *known == selection);
        if let Some((_, id)) = known {
            return *id;
        }
        let leaf = self.decide(config, cell, asked, &selection);
        let id = self.table.diagram.leaf(leaf);
        self.untouched.push((selection, id));
        id
    }

    /// Goes through what the world can be, and decides. What no decision looks at changes none.
    fn worlds(
        &mut self,
        dimension: usize,
        cell: &mut Cell,
        config: &Config,
        asked: &Asked,
        selection: &Selection,
    ) -> Id {
        if dimension == COUNT {
            let leaf = self.decide(config, cell, asked, selection);
            return self.table.diagram.leaf(leaf);
        }
        self.looked_at[dimension] = dimension == RUNTIME;
        let mut first = None;
        self.each(dimension, cell, |builder, cell| {
            if let Some(id) = first
                && !builder.looked_at[dimension]
            {
                return id;
            }
            let id = builder.worlds(dimension + 1, cell, config, asked, selection);
            first.get_or_insert(id);
            id
        })
    }

    fn decide(
        &mut self,
        config: &Config,
        cell: &Cell,
        asked: &Asked,
        selection: &Selection,
    ) -> Leaf {
        self.table.decisions += 1;
        let mut staged = part(cell, FIRST_OF_WORLD..COUNT);
        staged.0[GATE] = cell.0[GATE];
        let world = self.worlds.entry(staged);
        let disk = Disk::of(world.or_insert_with_key(Cell::world));
        let decision = plugin::behind_gate(config, &disk, asked, selection);
        for look in disk.into_looks() {
            for (dimension, path) in STAGED {
                self.looked_at[dimension] |= look.sees(path);
            }
        }
        Leaf::of(plugin::decided(decision))
    }

    fn config(&mut self, flags: &Cell) -> Rc<Config> {
        let config = self.configs.entry(flags.clone());
        let start = |flags: &Cell| Rc::new(plugin::start(&flags.command_line()).unwrap());
        Rc::clone(config.or_insert_with_key(start))
    }

    fn each(
        &mut self,
        dimension: usize,
        cell: &mut Cell,
        mut below: impl FnMut(&mut Self, &mut Cell) -> Id,
    ) -> Id {
        let values = u8::try_from(DIMENSIONS[dimension].values.len()).unwrap();
        let children = (0..values).map(|value| {
            cell.0[dimension] = value;
            below(self, cell)
        });
        let children = children.collect();
        cell.0[dimension] = 0;
        self.table.diagram.branch(dimension, children)
    }
}

/// Some dimensions of a combination, and all others ordinary.
fn part(cell: &Cell, dimensions: std::ops::Range<usize>) -> Cell {
    let mut part = Cell::default();
    part.0[dimensions.clone()].copy_from_slice(&cell.0[dimensions]);
    part
}
