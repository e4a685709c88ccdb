//! How the value of one flag is read. An empty value is a value that was not given.

use super::error::{Cause, ConfigError};
use crate::flags::boolean;
use crate::path::AbsolutePath;

/// The value, unless it is missing or empty.
pub(super) fn filled(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.is_empty())
}

/// The value, or `default`.
pub(super) fn text(value: Option<String>, default: &str) -> String {
    filled(value).unwrap_or_else(|| default.to_owned())
}

/// A cleaned path, or `default`.
pub(super) fn absolute(
    flag: &'static str,
    value: Option<String>,
    default: &str,
) -> Result<AbsolutePath, ConfigError> {
    let value = text(value, default);
    AbsolutePath::new(&value).ok_or_else(|| ConfigError::invalid(flag, &value, Cause::Relative))
}

/// The overlay's path in the container. `/`, where the overlay hides what the image brings, works for an image that
/// brings nothing, and stands in command lines.
pub(super) fn overlay_mount(
    value: Option<String>,
    default: &str,
) -> Result<AbsolutePath, ConfigError> {
    let flag = "overlay-mount-path";
    let path = absolute(flag, value, default)?;
    match path.as_str() {
        "/proc" | "/sys" | "/dev" => Err(ConfigError::invalid(
            flag,
            path.as_str(),
            Cause::SystemMount,
        )),
        _ => Ok(path),
    }
}

/// What the word stands for in any ASCII case; `default` when there is none.
pub(super) fn choice<T: Copy>(
    flag: &'static str,
    value: Option<String>,
    default: T,
    words: &[(&'static str, T)],
) -> Result<T, ConfigError> {
    let Some(value) = filled(value) else {
        return Ok(default);
    };
    let meant = words
        .iter()
        .find(|(word, _)| word.eq_ignore_ascii_case(&value));
    meant.map(|(_, choice)| *choice).ok_or_else(|| {
        let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let known = known.join(", ");
        ConfigError::invalid(flag, &value, Cause::UnknownWord { known })
    })
}

/// A boolean that is false when it is not given.
pub(super) fn boolean(flag: &'static str, value: Option<String>) -> Result<bool, ConfigError> {
    filled(value).map_or(Ok(false), |value| {
        boolean::parse(&value).ok_or_else(|| ConfigError::invalid(flag, &value, Cause::NotBoolean))
    })
}

/// The items of all values of a list flag, trimmed, without empty ones.
pub(super) fn items(values: Vec<String>) -> impl Iterator<Item = String> {
    let split = |value: String| -> Vec<String> {
        value
            .split(',')
            .map(|item| item.trim().to_owned())
            .collect()
    };
    values
        .into_iter()
        .flat_map(split)
        .filter(|item| !item.is_empty())
}
