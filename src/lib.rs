//! A containerd NRI plugin that gives containers mock GPUs.

pub mod answer;
pub mod audit;
pub mod config;
pub mod convert;
pub mod decide;
pub mod feature_gates;
pub mod flags;
pub mod gate;
pub mod health;
pub mod host;
pub mod install;
pub mod logging;
pub mod metrics;
pub mod panics;
pub mod path;
pub mod probes;
pub mod run;
pub mod session;
pub mod version;
