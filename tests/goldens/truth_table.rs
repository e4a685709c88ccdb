//! The truth table: every combination of everything that can change the decision, through the whole plugin.
//!
//! The plugin is a chain of pure stages, each a function of what it is handed: a command line makes a
//! configuration, bytes make a request, the two make a selection, and that, the container, the disk and the
//! runtime make a decision. So each stage is run once for each distinct thing that it can be handed, and a
//! combination is a way through the results. That is what makes the full product affordable; that the shortcut
//! is none is checked by asking about a sample of combinations from end to end.

mod answers;
mod cell;
mod diagram;
mod dimensions;
mod leaf;
mod rules;
mod sections;
mod table;

use insta::assert_snapshot;

use self::cell::Cell;
use self::dimensions::DIMENSIONS;
use self::table::Table;
use crate::goldens;

#[test]
#[ignore = "takes half a minute: ci/goldens has it"]
fn the_truth_table_is_as_written_down() {
    let table = Table::build();
    check_a_sample(&table);
    let _goldens = goldens::in_directory("truth_table");
    assert_snapshot!("size", table.size());
    for (name, text) in sections::all(&table) {
        assert_snapshot!(name, text);
    }
    assert_snapshot!("answers", answers::all(&table));
}

/// Combinations spread over the whole table, each asked from its command line to its bytes.
fn check_a_sample(table: &Table) {
    let combinations: u64 = DIMENSIONS
        .iter()
        .map(|dimension| dimension.values.len() as u64)
        .product();
    // A prime step visits every value of every dimension with every other.
    let step = 224_737;
    for number in (0..combinations).step_by(step) {
        let cell = Cell::numbered(number);
        assert_eq!(table.leaf(&cell), &cell.ask(), "{cell}");
    }
}
