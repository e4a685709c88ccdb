//! The name and the index that the plugin registers under.

use super::error::{Cause, ConfigError};

/// A name that every runtime takes: newer ones refuse anything but these characters.
pub(super) fn name(name: String) -> Result<String, ConfigError> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
    if name.chars().all(taken) {
        Ok(name)
    } else {
        Err(ConfigError::invalid(
            "plugin-name",
            &name,
            Cause::PluginName,
        ))
    }
}

/// An index that every runtime takes.
pub(super) fn index(index: String) -> Result<String, ConfigError> {
    if index.len() == 2 && index.bytes().all(|byte| byte.is_ascii_digit()) {
        Ok(index)
    } else {
        Err(ConfigError::invalid(
            "plugin-index",
            &index,
            Cause::PluginIndex,
        ))
    }
}
