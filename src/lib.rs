//! A containerd NRI plugin that gives containers mock GPUs.

pub mod logging;
pub mod metrics;
pub mod version;
