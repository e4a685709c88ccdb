//! Arbitrary input: mostly near what decides something, sometimes anything at all.

mod command_line;
mod container;
mod pod;
mod text;
mod world;

pub(crate) use command_line::{FLAGS, Flag, both_ways, command_line, valid_command_line};
pub(crate) use container::container;
pub(crate) use pod::pod;
pub(crate) use text::text;
pub(crate) use world::world;
