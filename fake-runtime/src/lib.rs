//! containerd's side of NRI, in process.

pub mod applied;
pub mod apply;
pub mod cdi;
pub mod changes;
pub mod collect;
pub mod create;
pub mod explain;
pub mod host;
pub mod jsonl;
pub mod oci;
pub mod plugin_log;
pub mod pod;
pub mod process;
pub mod profile;
pub mod requests;
pub mod runtime;
pub mod scripted;
pub mod staging;
pub mod vectors;
