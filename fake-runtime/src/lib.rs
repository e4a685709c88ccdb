//! containerd's side of NRI, in process: start it in a test, let a plugin connect, create containers, and read what
//! came of them.
//!
//! ```
//! # use fake_runtime::scripted::{Reply, ScriptedPlugin};
//! # use fake_runtime::api::{ContainerAdjustment, KeyValue};
//! # async fn start_my_plugin(socket: &std::path::Path) -> impl Sized {
//! #     let hello = KeyValue { key: "HELLO".into(), value: "world".into() };
//! #     let adjustment = ContainerAdjustment { env: vec![hello], ..Default::default() };
//! #     let plugin = ScriptedPlugin::new("10", "hello");
//! #     plugin.reply(move |_| Reply::Adjust(Box::new(adjustment.clone()))).connect(socket).await
//! # }
//! use fake_runtime::FakeRuntime;
//! use fake_runtime::api::{Container, PodSandbox};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = FakeRuntime::start().await?;
//! let _plugin = start_my_plugin(runtime.socket_path()).await;
//! runtime.plugin_registered().await?;
//!
//! let created = runtime.create_container(PodSandbox::default(), Container::default()).await?;
//! assert_eq!(created.after.process.env, ["HELLO=world"]);
//! # Ok(())
//! # }
//! ```
//!
//! `created.after` is the container's OCI spec as runc would get it; where containerd refuses a container, the error
//! is what a CRI client is told. The plugin may run in the test, as here, or be a program in any language:
//! [`process::PluginCommand`] starts one. Nothing is polled: what a test waits for is awaited, and a wait in vain ends
//! with a report of everything that plugins did.
//!
//! | to | see |
//! | --- | --- |
//! | choose a containerd version, an inventory, timeouts | [`runtime::Builder`] |
//! | expect things of plugins, and fail the test with a report otherwise | [`runtime::Expectation`] |
//! | misbehave as no containerd should | the methods of [`FakeRuntime`] that say so |
//! | ask about the containers of a Pod manifest | [`pod`] |
//! | write a small plugin | [`scripted`] |
//! | read what changed in a spec, item by item | [`changes`] |
//! | apply an adjustment to a spec without any socket | [`create`], [`collect`], [`apply`] |
//!
//! What each version of containerd sends and does is data, a [`profile`], and held to recordings of that version: some
//! thousand adjustments, each with the spec before and after it ([`applied`]). The tool `fake-runtime` offers the same
//! on a command line; `fake-runtime --help` lists what it does.
//!
//! It does not run anything: no image is pulled and no container started. What runc would refuse at start passes here
//! as it passes in containerd.

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
pub mod tree;

pub use nri_proto::api;
pub use runtime::FakeRuntime;
