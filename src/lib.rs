//! A containerd NRI plugin that gives containers mock GPUs.
