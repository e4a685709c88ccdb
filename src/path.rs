//! Lexical path cleaning: no disk is read, so a path means the same before and after it is staged.

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
        path.starts_with('/').then(|| Self(clean(path)))
    }

    /// The place that `path` names when it is read from here; an absolute `path` is read from here too.
    #[must_use]
    pub fn join(&self, path: &str) -> Self {
        Self(clean(&format!("{}/{path}", self.0)))
    }

    /// Whether `other` is this path or lies below it.
    pub fn contains(&self, other: &Self) -> bool {
        Path::new(&other.0).starts_with(&self.0)
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

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

/// Removes `//`, `.`, trailing `/`, and each `..` together with what it undoes. What is left of nothing is `.`.
pub fn clean(path: &str) -> String {
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
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
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
    fn a_path_contains_itself_and_what_lies_below_but_no_namesake() {
        let overlay = absolute("/var/lib/mock");
        assert!(overlay.contains(&absolute("/var/lib/mock")));
        assert!(overlay.contains(&absolute("/var/lib/mock/lock")));
        assert!(!overlay.contains(&absolute("/var/lib/mock-lock")));
        assert!(!overlay.contains(&absolute("/var/lib")));
        assert!(absolute("/").contains(&overlay));
    }
}
