//! From what a person or a containerd calls a version to the numbers in it.

/// The releases of one minor version from a first patch to a last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Series {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
    /// The first and the last patch release.
    pub patches: (u32, u32),
}

impl Series {
    /// Every patch release of a minor version.
    pub const fn all(major: u32, minor: u32) -> Self {
        Self {
            major,
            minor,
            patches: (0, u32::MAX),
        }
    }

    /// Whether the release belongs to it.
    pub const fn contains(&self, major: u32, minor: u32, patch: u32) -> bool {
        let (first, last) = self.patches;
        self.major == major && self.minor == minor && first <= patch && patch <= last
    }
}

/// A version for which there is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no profile for containerd {0:?}: choose one of {names}, or a release of theirs",
    names = names()
)]
pub struct UnknownVersion(pub String);

fn names() -> String {
    let names: Vec<_> = super::ALL.iter().map(|profile| profile.name).collect();
    names.join(", ")
}

/// Major, minor and patch of `v2.1.9+unknown`. Whatever follows the patch is of no interest: distributions
/// and builds from a checkout write many things there.
pub(super) fn parse(version: &str) -> Option<(u32, u32, u32)> {
    let version = version.strip_prefix('v').unwrap_or(version);
    let mut parts = version.splitn(3, '.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    let patch = parts.next()?;
    let digits = patch
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(patch.len());
    Some((major, minor, patch[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use crate::profile::Profile;

    fn name(version: &str) -> &'static str {
        Profile::find(version).unwrap().name
    }

    #[test]
    fn a_profile_is_found_by_its_name() {
        for profile in super::super::ALL {
            assert_eq!(name(profile.name), profile.name);
        }
    }

    #[test]
    fn a_profile_is_found_by_what_its_containerd_says_of_itself() {
        for profile in super::super::ALL {
            assert_eq!(name(profile.runtime_version), profile.name);
        }
    }

    #[test]
    fn a_release_belongs_to_its_minor_version() {
        assert_eq!(name("1.7.24"), "1.7");
        assert_eq!(name("2.1.9+unknown"), "2.1");
        assert_eq!(name("v2.3.0"), "2.3");
    }

    #[test]
    fn the_first_release_of_2_2_is_a_profile_of_its_own() {
        assert_eq!(name("2.2.0"), "2.2.0");
        assert_eq!(name("v2.2.0"), "2.2.0");
        assert_eq!(name("2.2.1"), "2.2");
        assert_eq!(name("v2.2.7"), "2.2");
    }

    #[test]
    fn a_version_that_nobody_measured_is_refused_with_the_choices() {
        for version in ["", "2", "2.0.5", "1.6.0", "head", "2.1.", "v2.x.1"] {
            assert_eq!(
                Profile::find(version).unwrap_err().to_string(),
                format!(
                    "no profile for containerd {version:?}: choose one of 1.7, 2.1, 2.2.0, 2.2, 2.3, \
                     HEAD, or a release of theirs"
                ),
            );
        }
    }
}
