//! containerd's side of NRI, in process.

pub mod oci;
pub mod profile;
pub mod staging;
