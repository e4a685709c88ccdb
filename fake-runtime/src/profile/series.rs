//! Releases that behave alike.

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
