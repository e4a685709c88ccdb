//! The texts of the warnings.

use super::*;

fn text(warning: Warning) -> String {
    warning.to_string()
}

#[test]
fn a_warning_says_what_is_missing_where_and_what_comes_of_it() {
    let (path, cause) = (|| "/p".to_owned(), || "gone".to_owned());
    for (warning, expected) in [
        (
            Warning::ComputeDomainStagingOff,
            "compute domain daemon left alone: what it needs is never staged without --compute-domain-staging",
        ),
        (
            Warning::OverlayNotStaged { path: path() },
            "overlay not staged: this is not a directory, and the container fails to start if it stays so: /p",
        ),
        (
            Warning::NoGpuDevices {
                path: path(),
                cause: cause(),
            },
            "no mock GPU device: /p, gone",
        ),
        (
            Warning::NoCdiSpec {
                path: path(),
                cause: cause(),
            },
            "the CDI device does not resolve, raw device nodes are used instead: /p, gone",
        ),
        (
            Warning::NoInfinibandDevices {
                path: path(),
                cause: cause(),
            },
            "InfiniBand tools will find no HCA: /p, gone",
        ),
        (
            Warning::NoImexChannels {
                path: path(),
                cause: cause(),
            },
            "no mock IMEX channel: /p, gone",
        ),
        (
            Warning::RepeatedEnv {
                keys: vec!["PATH".to_owned(), "MOCK_IB".to_owned()],
            },
            "set twice in the container, so the change has no effect: PATH, MOCK_IB",
        ),
        (
            Warning::RepeatedInAdjustment {
                names: vec![path()],
            },
            "would be added twice, only the first is: /p",
        ),
    ] {
        assert_eq!(text(warning), expected);
    }
}

#[test]
fn each_reason_to_skip_a_device_has_its_own_words() {
    for (reason, expected) in [
        (
            SkipReason::Unresolved,
            "devices skipped: cannot be looked up, /dev/nvidia0",
        ),
        (
            SkipReason::NotCharDevice,
            "devices skipped: not a character device, /dev/nvidia0",
        ),
        (
            SkipReason::RealDriver,
            "devices skipped: real NVIDIA driver, /dev/nvidia0",
        ),
    ] {
        let devices = vec!["/dev/nvidia0".to_owned()];
        assert_eq!(text(Warning::DevicesSkipped { reason, devices }), expected);
    }
}

#[test]
fn a_long_list_is_cut_and_the_rest_counted() {
    let keys: Vec<String> = (0..13).map(|n| n.to_string()).collect();
    let shown =
        "set twice in the container, so the change has no effect: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9";
    assert_eq!(
        text(Warning::RepeatedEnv {
            keys: keys[..10].to_vec()
        }),
        shown
    );
    assert_eq!(
        text(Warning::RepeatedEnv { keys }),
        format!("{shown} and 3 more")
    );
}
