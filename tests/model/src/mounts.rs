//! The mounts of an adjusted container.

use nri_proto::api::Mount;

use crate::clean::join;
use crate::settings::Settings;

/// The overlay.
pub fn overlay(settings: &Settings) -> Mount {
    bind(
        &settings.overlay_host,
        &settings.overlay_mount,
        "rbind rprivate ro nosuid nodev",
    )
}

/// On top of it, the one directory that a container may write to.
pub fn config(settings: &Settings) -> Mount {
    bind(
        &config_directory(settings),
        &join(&settings.overlay_mount, "driver/config"),
        "rbind rprivate rw nosuid nodev",
    )
}

/// Where the mock driver's configuration is staged.
pub fn config_directory(settings: &Settings) -> String {
    join(&settings.overlay_host, "driver/config")
}

/// A bind mount with the options of a table's cell.
pub fn bind(source: &str, destination: &str, options: &str) -> Mount {
    Mount {
        source: source.into(),
        destination: destination.into(),
        r#type: "bind".into(),
        options: options.split(' ').map(String::from).collect(),
    }
}
