//! Lexical path cleaning: no disk is read, so a path means the same before and after it is staged.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;

/// A path that starts at `/` and holds no `//`, `.`, `..` or trailing `/`.
///
/// Two of them are equal exactly when they name the same place lexically, which is what makes a second pass
/// over a container recognise the mounts of the first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AbsolutePath(String);

impl AbsolutePath {
    /// Cleans `path`; `None` when it does not start at `/`. A `..` at the root stays at the root.
    pub fn new(path: &str) -> Option<Self> {
        path.starts_with('/')
            .then(|| Self(clean(path).into_owned()))
    }

    /// The place that `path` names when it is read from here; an absolute `path` is read from here too.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        let joined = [&self.0, "/", path].concat();
        let cleaned = match clean(&joined) {
            Cow::Borrowed(_) => None,
            Cow::Owned(cleaned) => Some(cleaned),
        };
        Self(cleaned.unwrap_or(joined))
    }

    /// The directory that holds it; the root is in none.
    pub fn parent(&self) -> Option<Self> {
        let (parent, name) = self.0.rsplit_once('/')?;
        let parent = if parent.is_empty() { "/" } else { parent };
        (!name.is_empty()).then(|| Self(parent.to_owned()))
    }

    /// Whether `other` is this path or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        Path::new(&other.0).starts_with(&self.0)
    }

    /// Whether `path`, however it is spelled, is this one.
    pub fn is(&self, path: &str) -> bool {
        clean(path) == self.0
    }

    /// The path as text, as it goes into messages for the runtime.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AbsolutePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<AbsolutePath> for String {
    fn from(path: AbsolutePath) -> Self {
        path.0
    }
}

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// The way from `above` down to `path`, where that lies below it. Both are clean.
pub fn way_down<'a>(above: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix(above)?;
    match above {
        "/" => Some(rest).filter(|rest| !rest.is_empty()),
        _ => rest.strip_prefix('/'),
    }
}

/// Most paths are, and this is asked of each path of each container.
fn is_clean(path: &str) -> bool {
    let parts = path.strip_prefix('/').unwrap_or(path);
    let is_kept = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    path == "/" || parts.as_bytes().split(|byte| *byte == b'/').all(is_kept)
}

/// Removes `//`, `.`, trailing `/`, and each `..` together with what it undoes. What is left of nothing is `.`.
pub fn clean(path: &str) -> Cow<'_, str> {
    if is_clean(path) {
        return Cow::Borrowed(path);
    }
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if rooted => {}
            other => kept.push(other),
        }
    }
    let joined = kept.join("/");
    Cow::Owned(match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn absolute(path: &str) -> AbsolutePath {
        AbsolutePath::new(path).unwrap()
    }

    #[test]
    fn the_same_place_written_differently_is_the_same_path() {
        for written in [
            "/opt/mock",
            "/opt//mock",
            "/opt/./mock",
            "/opt/mock/",
            "/opt/x/../mock",
            "//opt/mock/.",
        ] {
            assert_eq!(absolute(written).as_str(), "/opt/mock", "{written}");
        }
    }

    #[test]
    fn parent_steps_never_leave_the_root() {
        for written in ["/", "//", "/..", "/../..", "/opt/mock/../../.."] {
            assert_eq!(absolute(written).as_str(), "/", "{written}");
        }
        assert_eq!(absolute("/opt").join("../../../etc/x").as_str(), "/etc/x");
    }

    #[test]
    fn a_path_that_does_not_start_at_the_root_is_not_absolute() {
        for written in ["", " ", ".", "..", "opt/mock", "./opt", " /opt"] {
            assert_eq!(AbsolutePath::new(written), None, "{written:?}");
        }
    }

    #[test]
    fn a_relative_path_keeps_the_parent_steps_that_it_starts_with() {
        assert_eq!(clean("../a/./b/../c/"), "../a/c");
        assert_eq!(clean("a/.."), ".");
        assert_eq!(clean("../.."), "../..");
        assert_eq!(clean(""), ".");
    }

    #[test]
    fn what_is_clean_already_is_not_copied() {
        for path in [
            "/",
            "/opt",
            "/opt/nvml-mock",
            "/..a/.b",
            "opt",
            "a/b..",
            "/ü",
        ] {
            assert!(
                matches!(clean(path), Cow::Borrowed(same) if same == path),
                "{path}"
            );
        }
    }

    #[test]
    fn every_path_but_the_root_has_a_parent() {
        assert_eq!(absolute("/a/b").parent(), Some(absolute("/a")));
        assert_eq!(absolute("/a").parent(), Some(absolute("/")));
        assert_eq!(absolute("/").parent(), None);
    }

    #[test]
    fn the_way_down_leads_to_what_lies_below_and_nowhere_else() {
        assert_eq!(way_down("/opt", "/opt/a/b"), Some("a/b"));
        assert_eq!(way_down("/", "/opt"), Some("opt"));
        for (above, path) in [
            ("/opt", "/opt"),
            ("/opt", "/optical"),
            ("/", "/"),
            ("/a", "/"),
            ("/", "a"),
        ] {
            assert_eq!(way_down(above, path), None, "{above} {path}");
        }
    }

    #[test]
    fn a_path_contains_itself_and_what_lies_below_but_no_namesake() {
        let overlay = absolute("/var/lib/mock");
        assert!(overlay.contains(&absolute("/var/lib/mock")));
        assert!(overlay.contains(&absolute("/var/lib/mock/lock")));
        assert!(!overlay.contains(&absolute("/var/lib/mock-lock")));
        assert!(!overlay.contains(&absolute("/var/lib")));
        assert!(absolute("/").contains(&overlay));
    }
}
