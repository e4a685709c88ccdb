//! The `fake-runtime` tool.

fn main() {}
