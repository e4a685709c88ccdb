//! containerd's side of NRI, in process.
