//! Device nodes of a container in a user namespace (`hostUsers: false`). The OCI runtime may not make a node there and
//! binds the node's own file of that path instead, which on a mock node is not there: the container would never start.

use super::adjustment::{Adjustment, BindMount, DeviceGrant};
use super::devices::Found;
use super::request::Container;
use super::runtime::Runtime;
use super::volumes::Occupied;

/// No `idmap`: it would make the configuration writable, and fails the container on file systems without it.
const DEVICE_FILE: &[&str] = &["bind", "rprivate", "rw", "nosuid", "noexec"];

/// Adds the staged file of each node as a mount. Returns whether one was left out, because something is mounted there.
pub(super) fn bind(
    nodes: Vec<Found<'_>>,
    container: &Container,
    runtime: Runtime,
    adjustment: &mut Adjustment,
) -> bool {
    let occupied = Occupied::by(container);
    let mut left_out = false;
    for Found { source, node } in nodes {
        if occupied.at(&node.path) {
            left_out = true;
            continue;
        }
        adjustment.mounts.push(BindMount {
            source: source.path().into(),
            destination: node.path,
            options: DEVICE_FILE,
        });
        if runtime.applies_device_rules {
            adjustment.device_grants.push(DeviceGrant {
                major: node.major,
                minor: node.minor,
            });
        }
    }
    left_out
}
