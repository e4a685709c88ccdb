//! Volumes around the overlay, and copies of the program with another mount path.

use nri_proto::api::{Container, Mount};

use crate::World;
use crate::clean::{clean, join};
use crate::settings::{Settings, is_inside};

/// A mount of the container with its destination cleaned.
fn mounts(container: Option<&Container>) -> Vec<(String, &Mount)> {
    let mounts = container.iter().flat_map(|container| &container.mounts);
    mounts
        .map(|mount| (clean(&mount.destination), mount))
        .collect()
}

fn is_strictly_inside(path: &str, directory: &str) -> bool {
    directory.starts_with('/') && path != directory && is_inside(path, directory)
}

/// A mount at a proper ancestor of the overlay, `shared` or `rshared`.
pub fn would_propagate(settings: &Settings, container: Option<&Container>) -> bool {
    mounts(container).into_iter().any(|(destination, mount)| {
        is_strictly_inside(&settings.overlay_mount, &destination)
            && (mount.options.contains(&"shared".into())
                || mount.options.contains(&"rshared".into()))
    })
}

/// A mount of the overlay, and the variable that says where it is.
pub fn another_copy_was_here(settings: &Settings, container: Option<&Container>) -> bool {
    let env: Vec<&String> = container.iter().flat_map(|it| &it.env).collect();
    mounts(container).into_iter().any(|(destination, mount)| {
        let pci_root = format!("MOCK_PCI_ROOT={destination}");
        let ib_root = format!("MOCK_IB_ROOT={}", join(&destination, "ib"));
        let ib_root = if destination.starts_with('/') {
            ib_root
        } else {
            // `join` takes its base from the root.
            format!("MOCK_IB_ROOT={destination}/ib")
        };
        clean(&mount.source) == settings.overlay_host
            && (env.contains(&&pci_root) || env.contains(&&ib_root))
    })
}

/// A mount strictly below the overlay where the staged overlay has nothing, links followed.
pub fn is_below_without_a_place(
    settings: &Settings,
    world: &World,
    container: Option<&Container>,
) -> bool {
    mounts(container).into_iter().any(|(destination, _)| {
        let overlay = &settings.overlay_mount;
        let staged = join(
            &settings.overlay_host,
            destination.strip_prefix(overlay.as_str()).unwrap_or("/"),
        );
        is_strictly_inside(&destination, overlay) && !world.tree.exists(&staged)
    })
}

/// A mount at the configuration, or at a directory between that and the overlay.
pub fn has_own_config(settings: &Settings, container: Option<&Container>) -> bool {
    let between = ["driver/config", "driver"];
    mounts(container).into_iter().any(|(destination, _)| {
        let mut between = between.iter();
        between.any(|below| destination == join(&settings.overlay_mount, below))
    })
}

/// A mount of type `bind` at `/dev` itself.
pub fn has_own_dev(container: Option<&Container>) -> bool {
    mounts(container)
        .into_iter()
        .any(|(destination, mount)| destination == "/dev" && mount.r#type == "bind")
}

/// Whether a file may be mounted at the path: nothing is mounted there, and no bind of the container's own is above.
pub fn is_free(path: &str, container: Option<&Container>) -> bool {
    mounts(container).into_iter().all(|(destination, mount)| {
        let bound = mount.r#type == "bind" && is_strictly_inside(path, &destination);
        destination != path && !bound
    })
}
