//! containerd's side of NRI, in process.

pub mod applied;
pub mod apply;
pub mod cdi;
pub mod collect;
pub mod create;
pub mod host;
pub mod oci;
mod path;
pub mod profile;
pub mod runtime;
pub mod scripted;
pub mod staging;
