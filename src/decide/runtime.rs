//! What the decision has to know of the runtime that will apply it.

/// What the runtime makes of an adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Whether CDI devices in an adjustment arrive in the container, or are dropped without a word.
    pub delivers_cdi: bool,
}

impl Runtime {
    /// Reads the name and the version that the runtime gave in Configure. containerd before 2.0 drops CDI
    /// devices; whatever is not recognised is taken to deliver them.
    pub fn identify(name: &str, version: &str) -> Self {
        let version = version.strip_prefix('v').unwrap_or(version);
        let major: Option<u32> = version
            .split(|c: char| !c.is_ascii_digit())
            .next()
            .and_then(|digits| digits.parse().ok());
        let before_two = major.is_some_and(|major| major < 2);
        Self {
            delivers_cdi: !(name == "containerd" && before_two),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_containerd_one_drops_cdi_devices() {
        for (name, version, delivers_cdi) in [
            ("containerd", "1.7.24~ds1", false),
            ("containerd", "v1.7.0", false),
            ("containerd", "2.1.9+unknown", true),
            ("containerd", "v2.3.4", true),
            ("containerd", "10.0.0", true),
            ("containerd", "", true),
            ("containerd", "HEAD", true),
            ("containerd", "99999999999999999999.0", true),
            ("cri-o", "1.31.0", true),
            ("", "", true),
        ] {
            let runtime = Runtime::identify(name, version);
            assert_eq!(runtime.delivers_cdi, delivers_cdi, "{name} {version}");
        }
    }
}
