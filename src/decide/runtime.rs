//! What the decision has to know of the runtime that will apply it.

/// What the runtime makes of an adjustment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Whether CDI devices in an adjustment arrive in the container, or are dropped without a word.
    pub delivers_cdi: bool,
    /// Whether device cgroup rules in an adjustment are applied.
    pub applies_device_rules: bool,
    /// Whether `PATH` stands twice in the environment of nearly every container, so that no plugin can change it.
    pub repeats_path: bool,
}

impl Runtime {
    /// A runtime of which nothing is known: taken to deliver what every current one does.
    pub const UNKNOWN: Self = Self {
        delivers_cdi: true,
        applies_device_rules: false,
        repeats_path: false,
    };

    /// Reads the name and the version that the runtime gave in Configure.
    pub fn identify(name: &str, version: &str) -> Self {
        let version = version.strip_prefix('v').unwrap_or(version);
        let mut numbers = version.split('.').map(number);
        let version = match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(major), minor) => Some((major, minor)),
            (None, _) => None,
        };
        let before = |first| version.is_some_and(|version| version < first);
        match name {
            "containerd" => Self {
                delivers_cdi: !before((2, Some(1))),
                applies_device_rules: version.is_some_and(|version| version >= (2, Some(2))),
                repeats_path: false,
            },
            "cri-o" => Self {
                delivers_cdi: !before((1, Some(34))),
                repeats_path: true,
                ..Self::UNKNOWN
            },
            _ => Self::UNKNOWN,
        }
    }
}

/// The number at the beginning of a part of a version.
fn number(part: &str) -> Option<u32> {
    let digits = part.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containerd_before_2_1_and_cri_o_before_1_34_drop_cdi_devices() {
        for (name, version, delivers_cdi) in [
            ("containerd", "1.7.24~ds1", false),
            ("containerd", "v1.7.0", false),
            ("containerd", "v2.0.0", false),
            ("containerd", "2.0.7", false),
            ("containerd", "2.1.0-rc.1", true),
            ("containerd", "2.1.9+unknown", true),
            ("containerd", "v2.3.4", true),
            ("containerd", "10.0.0", true),
            ("containerd", "1", false),
            ("containerd", "", true),
            ("containerd", "HEAD", true),
            ("containerd", "99999999999999999999.0", true),
            ("cri-o", "1.31.13", false),
            ("cri-o", "1.33.13", false),
            ("cri-o", "1.34.11", true),
            ("cri-o", "1.37.0", true),
            ("cri-o", "", true),
            ("other", "1.0.0", true),
            ("", "", true),
        ] {
            let runtime = Runtime::identify(name, version);
            assert_eq!(runtime.delivers_cdi, delivers_cdi, "{name} {version}");
        }
    }

    #[test]
    fn containerd_applies_device_rules_from_2_2_on() {
        for (name, version, applies) in [
            ("containerd", "1.7.24", false),
            ("containerd", "2.1.9+unknown", false),
            ("containerd", "v2.2.0", true),
            ("containerd", "2.3.4", true),
            ("containerd", "3.0", true),
            ("containerd", "2", false),
            ("containerd", "HEAD", false),
            ("cri-o", "2.2.0", false),
            ("", "2.2.0", false),
        ] {
            let runtime = Runtime::identify(name, version);
            assert_eq!(runtime.applies_device_rules, applies, "{name} {version}");
        }
    }

    #[test]
    fn cri_o_alone_repeats_path() {
        assert!(Runtime::identify("cri-o", "1.37.0").repeats_path);
        assert!(!Runtime::identify("containerd", "2.1.9").repeats_path);
        assert!(!Runtime::identify("", "").repeats_path);
    }
}
