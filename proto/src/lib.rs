//! NRI's messages and how they travel over one unix socket.
//!
//! - [`api`]: every message and enum of NRI, and the names of its services.
//! - [`fields`]: a message's fields where they lie.
//! - [`wire`]: frames, messages, calls and answers, for either side of the socket.

pub mod api;
pub mod fields;
pub mod wire;
