//! A node for nri-plugin to work on, without a cluster.
//!
//! | to | see |
//! | --- | --- |
//! | stage a mock overlay, a node agent and its lock | [`staging`] |
//! | start the plugin, and read its log | [`plugin`] |
//! | have its decision explained, rule by rule | [`explain`] |
//! | play cases with their expected answer | [`vectors`] |
//!
//! The runtime is [`fake_runtime`]. The tool `mock-node` offers the same on a command line.

pub mod explain;
pub mod plugin;
pub mod staging;
pub mod vectors;
