#![doc = include_str!("../README.md")]
//!
//! ## What is where
//!
//! | to | see |
//! | --- | --- |
//! | choose a runtime's version, an inventory, timeouts | [`runtime::Builder`] |
//! | expect things of plugins, and fail the test with a report otherwise | [`runtime::Expectation`] |
//! | misbehave as no containerd should | the methods of [`FakeRuntime`] that say so |
//! | start a plugin's binary | [`process::PluginCommand`] |
//! | ask about the containers of a Pod manifest | [`pod`] |
//! | make files and device nodes for a plugin to find | [`tree`] |
//! | write a small plugin | [`scripted`] |
//! | read what changed in a spec, item by item | [`changes`] |
//! | apply an adjustment to a spec without any socket | [`create`], [`collect`], [`apply`] |
//! | hold that to recordings of containerd and CRI-O | [`profile`], [`applied`], [`sent`] |

pub mod applied;
pub mod apply;
pub mod bench;
pub mod cdi;
pub mod changes;
pub mod check;
pub mod cli;
pub mod collect;
pub mod create;
pub mod create_error;
pub mod host;
pub mod jsonl;
pub mod launch;
pub mod life;
pub mod nvidia;
pub mod oci;
pub mod oci_runtime;
mod one_line;
pub mod pod;
pub mod process;
pub mod product;
pub mod profile;
pub mod recording;
pub mod replay;
pub mod requests;
pub mod runtime;
pub mod scenario;
pub mod scripted;
pub mod sent;
pub mod tree;

pub use nri_proto::api;
pub use runtime::FakeRuntime;
