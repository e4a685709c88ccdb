//! From what a person or a runtime calls a version to the numbers in it.

use super::{containerd, cri_o};

/// A version for which there is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no profile for {0:?}: choose one of {names}, or a release of theirs",
    names = names()
)]
pub struct UnknownVersion(pub String);

fn names() -> String {
    let names: Vec<_> = super::ALL.iter().map(ToString::to_string).collect();
    names.join(", ")
}

/// The runtime and the version of `cri-o-1.37`. Who names no runtime means containerd.
pub(super) fn split(name: &str) -> (&'static str, &str) {
    // Recordings have CRI-O's name as its command is called.
    let names = [
        (cri_o::NAME, cri_o::NAME),
        ("crio", cri_o::NAME),
        (containerd::NAME, containerd::NAME),
    ];
    let split = names.iter().find_map(|(written, runtime)| {
        let version = name.strip_prefix(written)?.strip_prefix('-')?;
        Some((*runtime, version))
    });
    split.unwrap_or((containerd::NAME, name))
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
    use crate::profile::{ALL, Profile};

    fn name(version: &str) -> String {
        Profile::find(version).unwrap().to_string()
    }

    #[test]
    fn a_profile_is_found_by_its_name() {
        for profile in ALL {
            assert_eq!(name(&profile.to_string()), profile.to_string());
        }
    }

    #[test]
    fn a_profile_is_found_by_what_its_runtime_says_of_itself() {
        for profile in ALL {
            let found = Profile::of(profile.runtime, profile.runtime_version);
            assert_eq!(found, Ok(profile));
        }
    }

    #[test]
    fn a_version_without_a_runtime_is_containerds() {
        assert_eq!(name("1.7"), "containerd-1.7");
        assert_eq!(name("HEAD"), "containerd-HEAD");
    }

    #[test]
    fn a_release_belongs_to_its_minor_version() {
        assert_eq!(name("1.7.24"), "containerd-1.7");
        assert_eq!(name("2.1.9+unknown"), "containerd-2.1");
        assert_eq!(name("v2.3.0"), "containerd-2.3");
        assert_eq!(name("cri-o-1.37.0"), "cri-o-1.37");
        assert_eq!(name("crio-1.31.13"), "cri-o-1.31");
    }

    #[test]
    fn the_first_release_of_2_2_is_a_profile_of_its_own() {
        assert_eq!(name("2.2.0"), "containerd-2.2.0");
        assert_eq!(name("v2.2.0"), "containerd-2.2.0");
        assert_eq!(name("2.2.1"), "containerd-2.2");
        assert_eq!(name("v2.2.7"), "containerd-2.2");
    }

    #[test]
    fn a_version_that_nobody_measured_is_refused_with_the_choices() {
        for version in [
            "",
            "2",
            "2.0.5",
            "1.6.0",
            "head",
            "2.1.",
            "v2.x.1",
            "1.37",
            "cri-o-2.3",
            "cri-o-1.36.0",
            "docker-29",
        ] {
            assert_eq!(
                Profile::find(version).unwrap_err().to_string(),
                format!(
                    "no profile for {version:?}: choose one of containerd-1.7, containerd-2.1, containerd-2.2.0, \
                     containerd-2.2, containerd-2.3, containerd-HEAD, cri-o-1.31, cri-o-1.33, cri-o-1.34, \
                     cri-o-1.37, or a release of theirs"
                ),
            );
        }
    }
}
