//! The `nri-plugin` binary.

fn main() {}
