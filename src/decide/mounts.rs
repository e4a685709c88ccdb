//! The overlay in the container, and its configuration directory.

use super::adjustment::BindMount;
use super::request::Container;
use super::staged::{NodeKind, Staged};
use super::volumes;
use crate::config::Config;
use crate::path::AbsolutePath;

/// The directory whose files the mock driver writes, below the overlay.
const CONFIG: &str = "driver/config";

/// `rprivate`, because without a propagation a container with a Bidirectional volume copies the bind back
/// onto the node.
const READ_ONLY: &[&str] = &["rbind", "rprivate", "ro", "nosuid", "nodev"];
/// The mock driver clears an injected fault by writing into its configuration.
const WRITABLE: &[&str] = &["rbind", "rprivate", "rw", "nosuid", "nodev"];

/// The two mounts. The second sits on the first, so their order matters. It is left out where a volume of the container's
/// own takes its place.
pub(super) fn overlay(config: &Config, own_config: bool) -> Vec<BindMount> {
    let bind = |source: AbsolutePath, destination: AbsolutePath, options| BindMount {
        source: source.into(),
        destination: destination.into(),
        options,
    };
    let (host, container) = (&config.overlay_host_path, &config.overlay_mount_path);
    let mut mounts = vec![bind(host.clone(), container.clone(), READ_ONLY)];
    if !own_config {
        mounts.push(bind(host.join(CONFIG), container.join(CONFIG), WRITABLE));
    }
    mounts
}

/// Whether the container brings a volume that takes the place of the configuration.
pub(super) fn own_config(config: &Config, container: &Container) -> bool {
    let overlay = &config.overlay_mount_path;
    volumes::replace(container, &overlay.join(CONFIG), overlay)
}

/// The first source of the two that is not a directory. The runtime fails a container whose bind has no source.
pub(super) fn not_staged(config: &Config, staged: &impl Staged) -> Option<AbsolutePath> {
    let host = &config.overlay_host_path;
    [host.clone(), host.join(CONFIG)]
        .into_iter()
        .find(|source| {
            !staged
                .node(source)
                .is_ok_and(|node| node.kind == NodeKind::Directory)
        })
}
