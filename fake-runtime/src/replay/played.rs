//! What came of a step.

use std::time::Duration;

use crate::product::Decision;
use crate::runtime::{Created, Fault, Refused, Turn};

/// What came of a step, or of one container of it.
#[derive(Clone, Debug)]
pub enum Played {
    /// Something went wrong on purpose.
    Fault {
        /// What.
        fault: Fault,
        /// How long the plugin took to register again, where it lost its connection.
        came_back: Option<Duration>,
    },
    /// A turn of a pod's life other than a container's creation.
    Turn {
        /// What happened.
        what: String,
        /// What came of it.
        turn: Box<Turn>,
    },
    /// A container.
    Container {
        /// What became of it.
        container: Box<Container>,
        /// What was expected and did not come true.
        unmet: Vec<String>,
    },
}

/// A container, and what became of it.
#[derive(Clone, Debug)]
pub struct Container {
    /// `namespace/pod/container`.
    pub name: String,
    /// The container, or why there is none.
    pub created: Result<Created, Refused>,
    /// What the plugin's log said, where that is known to be read.
    pub decision: Option<Decision>,
}
