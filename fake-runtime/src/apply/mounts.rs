//! `mounts`.

use nri_proto::api;
use path_clean::clean;

use super::unless_empty;
use crate::collect::removal;
use crate::create_error::Reason;
use crate::host::{Host, Propagation};
use crate::oci::{Mount, Spec};

/// Removes and adds the plugins' mounts and sorts all of them: by depth, then by destination. Without a
/// mount to remove or to add the CRI's order stays.
pub(super) fn apply(spec: &mut Spec, theirs: &[api::Mount], host: &Host) -> Result<(), Reason> {
    if theirs.is_empty() {
        return Ok(());
    }
    // containerd does not reset this from one mount to the next, nor from one plugin to the next.
    let mut asked = Propagation::Private;
    for mount in theirs {
        if let Some(destination) = removal(&mount.destination) {
            remove(&mut spec.mounts, destination);
            continue;
        }
        remove(&mut spec.mounts, &mount.destination);
        for option in &mount.options {
            match option.as_str() {
                "rprivate" => asked = Propagation::Private,
                "rslave" => asked = Propagation::Slave,
                "rshared" => asked = Propagation::Shared,
                _ => {}
            }
        }
        propagate(
            &mut spec.linux.rootfs_propagation,
            asked,
            &mount.source,
            host,
        )?;
        spec.mounts.push(oci_mount(mount));
    }
    // containerd's sort is not stable. That shows only where one destination is there twice.
    spec.mounts.sort_by(|a, b| {
        let (a, b) = (destination(a), destination(b));
        depth(a).cmp(&depth(b)).then_with(|| a.cmp(b))
    });
    Ok(())
}

/// Checks that the host's mount under a source propagates as asked, and lets the container's root do so.
fn propagate(
    root: &mut String,
    asked: Propagation,
    source: &str,
    host: &Host,
) -> Result<(), Reason> {
    let (suffices, wanted): (&[_], _) = match asked {
        Propagation::Private => return Ok(()),
        Propagation::Slave => (
            &[Propagation::Shared, Propagation::Slave],
            "rshared or rslave",
        ),
        Propagation::Shared => (&[Propagation::Shared], "rshared"),
    };
    let is = host
        .propagation(source)
        .ok_or_else(|| Reason::MountInfo(source.to_owned()))?;
    if !suffices.contains(&is) {
        return Err(Reason::Propagation {
            source_path: source.to_owned(),
            is: is.as_str().to_owned(),
            wanted,
        });
    }
    let enough = matches!(root.as_str(), "rshared" | "rslave");
    if asked == Propagation::Shared || !enough {
        asked.as_str().clone_into(root);
    }
    Ok(())
}

/// Removes the first mount of a destination. Destinations are compared byte by byte: `/data/` does not
/// remove `/data`.
pub(super) fn remove(mounts: &mut Vec<Mount>, at: &str) {
    if let Some(place) = mounts.iter().position(|mount| destination(mount) == at) {
        mounts.remove(place);
    }
}

/// The destination as text: paths compare equal to `/data` where they say `/data/`.
pub(super) fn destination(mount: &Mount) -> &str {
    mount.destination().to_str().unwrap_or_default()
}

/// How many slashes the cleaned destination has. A relative one has one less.
pub(super) fn depth(destination: &str) -> usize {
    clean(destination).to_string_lossy().matches('/').count()
}

pub(super) fn oci_mount(mount: &api::Mount) -> Mount {
    let text = |text: &String| (!text.is_empty()).then(|| text.clone());
    let mut added = Mount::default();
    added
        .set_destination(mount.destination.as_str().into())
        .set_typ(text(&mount.r#type))
        .set_source(text(&mount.source).map(Into::into))
        .set_options(unless_empty(&mount.options));
    added
}
