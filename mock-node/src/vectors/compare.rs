//! Adjustments compared as messages, and shown as text where they differ.

use nri_proto::api::ContainerAdjustment;
use similar::TextDiff;

/// Lines of the same around each difference.
const CONTEXT: usize = 3;

/// What differs between two adjustments, as a unified diff of their canonical JSON; `None` where nothing does.
///
/// None and an adjustment with nothing in it are the same.
#[must_use]
pub fn difference(
    expected: Option<&ContainerAdjustment>,
    got: Option<&ContainerAdjustment>,
) -> Option<String> {
    let nothing = ContainerAdjustment::default();
    let expected = expected.unwrap_or(&nothing);
    let got = got.unwrap_or(&nothing);
    (expected != got).then(|| {
        TextDiff::from_lines(text(expected), text(got))
            .unified_diff()
            .context_radius(CONTEXT)
            .header("expected", "got")
            .to_string()
    })
}

fn text(adjustment: &ContainerAdjustment) -> String {
    let json = serde_json::to_value(adjustment)
        .map_or_else(|error| error.to_string(), |json| format!("{json:#}"));
    format!("{json}\n")
}

#[cfg(test)]
mod tests {
    use nri_proto::api::{LinuxContainerAdjustment, LinuxDevice, OptionalUInt32};

    use super::*;

    fn device(uid: Option<OptionalUInt32>) -> ContainerAdjustment {
        let device = LinuxDevice {
            path: "/dev/nvidia0".to_owned(),
            uid,
            ..Default::default()
        };
        let linux = LinuxContainerAdjustment {
            devices: vec![device],
            ..Default::default()
        };
        ContainerAdjustment {
            linux: Some(linux),
            ..Default::default()
        }
    }

    #[test]
    fn nothing_and_an_empty_adjustment_are_the_same() {
        assert_eq!(
            difference(None, Some(&ContainerAdjustment::default())),
            None
        );
    }

    #[test]
    fn a_present_zero_differs_from_an_absent_one() {
        let zero = device(Some(OptionalUInt32 { value: 0 }));
        let difference = difference(Some(&zero), Some(&device(None))).unwrap();
        assert!(
            difference.contains("\n-        \"uid\": {}\n"),
            "{difference}"
        );
        assert!(
            difference.starts_with("--- expected\n+++ got\n"),
            "{difference}"
        );
    }
}
