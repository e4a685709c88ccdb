//! The numbers of NVIDIA's device nodes, in `/dev` and in a mock driver's tree alike.

/// `nvidia<N>`, with N as its minor, `nvidiactl` and `nvidia-modeset` share the driver's registered major.
pub const MAJOR: u32 = 195;
/// `nvidiactl`.
pub const CTL_MINOR: u32 = 255;
/// `nvidia-modeset`.
pub const MODESET_MINOR: u32 = 254;

/// `nvidia-uvm` and `nvidia-uvm-tools`. Linux gives it out when the module is loaded; this is what it usually gives.
pub const UVM_MAJOR: u32 = 510;
/// The IMEX channels. Given out as well.
pub const IMEX_CHANNELS_MAJOR: u32 = 234;

/// How many GPUs a node can have: their minors end where those of the control nodes begin.
pub const MOST_GPUS: u32 = MODESET_MINOR;
