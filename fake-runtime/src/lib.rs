//! containerd's side of NRI, in process.

pub mod profile;
pub mod staging;
