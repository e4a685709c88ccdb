//! What stands on a node's disk and beside it: a tree of files and device nodes, the node agent, its lock.

mod agent;
mod lock;
mod overlay;
mod tree;

pub use agent::{NodeAgent, StagedAnswer};
pub use lock::{Hold, StagingLock};
pub use overlay::{Devices, Overlay};
pub use tree::{Entry, Kind, TreeError, make_tree};
