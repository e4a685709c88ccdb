//! NRI's messages and how they travel over one unix socket.

pub mod api;
pub mod narrow;
pub mod wire;
