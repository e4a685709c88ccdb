//! How long a plugin waits.

use std::time::Duration;

/// How long is waited for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long for the runtime, once to take the connection, once to answer the registration and once to configure
    /// the plugin. Twice the 5 s that containerd gives a plugin to register, since another one that keeps silent
    /// delays all others by as much.
    pub registration: Duration,
    /// How long what is in flight may take once the plugin is to stop.
    pub drain: Duration,
    /// How long a handler may run before another thread reads on.
    pub stall: Duration,
    /// How many threads may read or run handlers. Beyond it handlers are told not to block.
    pub threads: usize,
    /// Whether a request is answered without its handler once four fifths of the runtime's request timeout have
    /// passed. The last fifth is for the answer's way back, also on a node that is short of CPU: who is late is
    /// unregistered by the runtime.
    pub deadlines: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            registration: Duration::from_secs(10),
            drain: Duration::from_secs(1),
            stall: Duration::from_millis(25),
            threads: 8,
            deadlines: true,
        }
    }
}
