//! Scenario files: what is on a node, what is asked, what goes wrong, and what should come of it.
//!
//! YAML or JSON. A scenario of every part:
//!
//! ```yaml
//! kind: Scenario
//! containerd: "2.3"              # the version that asks; the default is 2.1
//! seed: 7                        # what faults leave to chance is drawn from it
//! request-timeout-ms: 500        # the default is containerd's, 2000
//! overlay: {gpus: 2, hcas: 0}    # what `mock-node replay` stages, as `mock-node stage` does, at {dir}
//! tree:                          # and what else there is below {dir}
//! - {path: lock, kind: file}
//! inventory: [running.yaml]      # Pods that run before the plugin registers
//! args: [--node-name=node-1]     # the plugin's arguments, before those of the command line
//! faults: [configure-first]      # planned before the plugin connects
//! steps:
//! - create: gpu-pod.yaml         # a file beside this one: Pods, a recording, or a request
//!   expect: {adjusted: true, reason: device annotation}
//! - fault: {cut: within-frame}   # or restart, garbage, {delay: {call: configure, ms: 300}} …
//! - create:                      # the same as a part of this file
//!     kind: Pod
//!     metadata: {name: plain}
//!     spec: {containers: [{name: main}]}
//!   expect: {adjusted: false, changes: []}
//! - create-at-once: [gpu-pod.yaml, gpu-pod.yaml]
//! - run: long-pod.yaml           # the Pods of a file, with all their containers, which then have a life
//! - update: {container: default/long/main, resources: {cpu: {shares: {value: 512}}}}
//! - stop: default/long/main      # a container, or a pod: default/long
//! - remove: default/long
//! ```
//!
//! An overlay is for a tool that is made for one plugin: see [`Product`](crate::product::Product). The arguments that
//! it takes are appended to the plugin's, unless one of those says where `{dir}` goes.

mod expected;
mod file;
mod play;

pub use expected::Expected;
pub use file::{Action, Scenario, ScenarioError, Source, Step, Update};
pub use play::Plain;
