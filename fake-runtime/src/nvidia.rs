//! The numbers of NVIDIA's device nodes, in `/dev` and in a mock driver's tree alike.

/// `nvidia<N>`, with N as its minor, `nvidiactl` and `nvidia-modeset` share the driver's registered major.
pub(crate) const MAJOR: u32 = 195;
pub(crate) const CTL_MINOR: u32 = 255;
pub(crate) const MODESET_MINOR: u32 = 254;

// Linux gives these out when the module is loaded; they are what it usually gives.
pub(crate) const UVM_MAJOR: u32 = 510;
pub(crate) const IMEX_CHANNELS_MAJOR: u32 = 234;

/// How many GPUs a node can have: their minors end where those of the control nodes begin.
pub(crate) const MOST_GPUS: u32 = MODESET_MINOR;
