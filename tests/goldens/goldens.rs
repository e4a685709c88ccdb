//! Where goldens are kept, and what may differ in them from one machine to the next: nothing.

use insta::internals::SettingsBindDropGuard;

/// Goldens of the calling test are in this directory below `snapshots/` while the guard lives.
pub(crate) fn in_directory(directory: &str) -> SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots");
    settings.set_snapshot_path(format!("{root}/{directory}"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind_to_scope()
}
