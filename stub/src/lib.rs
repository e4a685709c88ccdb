#![doc = include_str!("../README.md")]

mod backoff;
mod call;
mod connect;
mod connection;
mod desk;
mod error;
mod handlers;
mod life;
mod limits;
pub mod panics;
mod plugin;
mod reader;
mod runtime;
mod session;
mod stop;
mod stub;
mod updater;

pub use call::{Answer, Call, Reply};
pub use connect::{ConnectError, Identity, Origin, SOCKET_VARIABLE, place};
pub use error::Error;
pub use life::Life;
pub use limits::Limits;
pub use nri_proto::api;
pub use nri_proto::wire::{CallError, Closed, Code, Status};
pub use runtime::Runtime;
pub use stop::Stop;
pub use stub::Stub;
pub use updater::Updater;
