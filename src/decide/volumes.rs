//! The container's own volumes around the overlay. The plugin only ever adds, so they win; and what is added may
//! neither keep the container from starting nor reach the node through one of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

use super::adjustment::BindMount;
use super::request::{Container, Mount};
use super::staged::Staged;
use crate::config::Config;
use crate::path::{AbsolutePath, way_down};

/// The volume that would carry the overlay onto the node: it holds the place of the overlay and is shared. That the
/// overlay's own mount is private does not help, because the propagation of the mount that it sits on decides.
pub(super) fn shared_above<'a>(config: &Config, container: &'a Container) -> Option<&'a Mount> {
    let overlay = config.overlay_mount_path.as_str();
    let shared = |mount: &&Mount| {
        let mut options = mount.options.iter();
        options.any(|option| option == "shared" || option == "rshared")
    };
    let mut shared = container.mounts.iter().filter(shared);
    shared.find(|mount| way_down(&mount.place(), overlay).is_some())
}

/// Whether another copy of this plugin, which mounts the overlay elsewhere, has been here: the runtime refuses a
/// container in which both set `PATH`.
pub(super) fn mounted_by_another_copy(config: &Config, container: &Container) -> bool {
    let mounts = container.mounts.iter();
    let overlays: HashSet<Cow<'_, str>> = mounts
        .filter(|mount| config.overlay_host_path.is(&mount.source))
        .map(Mount::place)
        .collect();
    let mut roots = container.env.iter().filter_map(|item| told_root(item));
    !overlays.is_empty() && roots.any(|root| overlays.contains(root))
}

/// The mount path of the overlay that the item tells.
fn told_root(item: &str) -> Option<&str> {
    match item.split_once('=')? {
        ("MOCK_PCI_ROOT", overlay) => Some(overlay),
        ("MOCK_IB_ROOT", "/ib") => Some("/"),
        ("MOCK_IB_ROOT", root) => root.strip_suffix("/ib"),
        _ => None,
    }
}

/// The volume below the overlay for which the overlay holds no place. The overlay is read-only, so the runtime could
/// not make one; in the configuration, which is writable, it would leave one behind on the node.
pub(super) fn without_a_place<'a>(
    config: &Config,
    container: &'a Container,
    staged: &impl Staged,
) -> Option<&'a Mount> {
    let (host, overlay) = (&config.overlay_host_path, &config.overlay_mount_path);
    container.mounts.iter().find(|mount| {
        let place = mount.place();
        let below = way_down(overlay.as_str(), &place);
        below.is_some_and(|below| staged.node(&host.join(below)).is_err())
    })
}

/// Whether one of the volumes takes the place of the overlay's configuration, or of a directory above it that is
/// itself below the overlay.
pub(super) fn replace(
    container: &Container,
    config: &AbsolutePath,
    overlay: &AbsolutePath,
) -> bool {
    container.mounts.iter().any(|mount| {
        let place = mount.place();
        let above = || way_down(&place, config.as_str()).is_some();
        place == config.as_str() || (way_down(overlay.as_str(), &place).is_some() && above())
    })
}

/// Whether the container brings its own `/dev`, in which the runtime makes no node.
pub(super) fn replace_dev(container: &Container) -> bool {
    let mut mounts = container.mounts.iter();
    mounts.any(|mount| mount.is_bind() && mount.place() == "/dev")
}

/// Where a file cannot be mounted, because the container mounts something there already, or because the runtime would
/// leave an empty file behind in a volume.
pub(super) struct Occupied<'a> {
    mounts: HashSet<Cow<'a, str>>,
    binds: HashSet<Cow<'a, str>>,
}

impl<'a> Occupied<'a> {
    pub(super) fn by(container: &'a Container) -> Self {
        let binds = container.mounts.iter().filter(|mount| mount.is_bind());
        Self {
            binds: binds.map(Mount::place).collect(),
            mounts: container.mounts.iter().map(Mount::place).collect(),
        }
    }

    pub(super) fn at(&self, path: &str) -> bool {
        let mut above = Path::new(path).ancestors().skip(1);
        let bound = |above: &Path| {
            above
                .to_str()
                .is_some_and(|above| self.binds.contains(above))
        };
        self.mounts.contains(path) || above.any(bound)
    }
}

impl Mount {
    /// The cleaned destination.
    fn place(&self) -> Cow<'_, str> {
        crate::path::clean(&self.destination)
    }

    fn is_bind(&self) -> bool {
        self.kind == BindMount::KIND
    }
}
