//! Apply and the chain of plugins, held against what real runtimes did.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its recordings has nothing better to do"
)]

mod cri_o;
mod data;
mod live;
mod parts_of_specs;
mod profiles;
mod versions;
mod whole_specs;
