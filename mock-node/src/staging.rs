//! What stands on a node's disk and beside it: the mock overlay, the node agent, its lock.

mod agent;
mod lock;
mod overlay;

pub use agent::{NodeAgent, StagedAnswer};
pub use lock::{Hold, StagingLock};
pub use overlay::{Devices, Overlay, StageError, has_real_driver};
