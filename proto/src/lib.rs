//! NRI's messages and how they travel over one unix socket.
//!
//! - [`api`]: every message and enum of NRI, and the names of its services.
//! - [`narrow`]: the same requests with only what deciding about a container needs.
//! - [`wire`]: frames, messages, calls and answers, for either side of the socket.

pub mod api;
pub mod narrow;
pub mod wire;
