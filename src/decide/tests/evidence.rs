//! Evidence of an allocation.

use super::super::evidence::Evidence;
use super::*;

fn is_allocated(container: &Container) -> bool {
    Evidence::of(container).is_some()
}

fn holds(cdi_device: &str) -> bool {
    is_allocated(&Container {
        cdi_devices: vec!["vendor.com/net=eth0".to_owned(), cdi_device.to_owned()],
        ..Container::default()
    })
}

#[test]
fn a_device_of_the_device_plugin_or_of_the_dra_driver_is_an_allocation() {
    for device in ["0", "GPU-1234", "all", "a,b", "ü", "a\n", "a\u{a0}b"] {
        assert!(
            holds(&format!("k8s.device-plugin.nvidia.com/gpu={device}")),
            "{device}"
        );
        assert!(
            holds(&format!("k8s.gpu.nvidia.com/claim={device}")),
            "{device}"
        );
    }
}

#[test]
fn evidence_is_told_by_the_name_of_what_was_found() {
    let granted = Container {
        devices: vec![gpu("/dev/nvidia3")],
        device_rules: vec![grant()],
        ..Container::default()
    };
    for (container, text) in [
        (allocated(), "CDI device k8s.device-plugin.nvidia.com/gpu=0"),
        (granted, "/dev/nvidia3 with a grant of its own"),
    ] {
        assert_eq!(Evidence::of(&container).unwrap().to_string(), text);
    }
}

#[test]
fn no_other_cdi_device_is_an_allocation() {
    for name in [
        "",
        "nvidia.com/gpu=0",
        "nvml-mock.nvidia.com/gpu=all",
        "k8s.device-plugin.nvidia.com/gdrcopy=all",
        "k8s.device-plugin.nvidia.com/gpu",
        "k8s.device-plugin.nvidia.com/gpu=",
        "k8s.device-plugin.nvidia.com/gpu=a b",
        "k8s.device-plugin.nvidia.com/gpu=a/b",
        "k8s.device-plugin.nvidia.com/gpu=a=b",
        "k8s.device-plugin.nvidia.com/GPU=0",
        " k8s.device-plugin.nvidia.com/gpu=0",
        "k8s.gpu.nvidia.com/claims=x",
        "k8s.gpu.nvidia.com/gpu=0",
        "k8s.compute-domain.nvidia.com/claim=x",
    ] {
        assert!(!holds(name), "{name}");
    }
}

fn gpu(path: &str) -> Device {
    Device {
        path: path.to_owned(),
        kind: "c".to_owned(),
        major: 195,
        minor: 3,
    }
}

fn grant() -> DeviceRule {
    DeviceRule {
        allow: true,
        kind: "c".to_owned(),
        major: Some(195),
        minor: Some(3),
        access: "rwm".to_owned(),
    }
}

fn holds_node(device: Device, rule: DeviceRule) -> bool {
    is_allocated(&Container {
        devices: vec![Device::default(), device],
        device_rules: vec![DeviceRule::default(), rule],
        ..Container::default()
    })
}

#[test]
fn a_numbered_gpu_with_its_own_grant_is_an_allocation() {
    for path in [
        "/dev/nvidia0",
        "/dev/nvidia1",
        "/dev/nvidia255",
        "/dev/nvidia4294967295",
    ] {
        assert!(holds_node(gpu(path), grant()), "{path}");
    }
}

#[test]
fn no_other_node_is_an_allocation() {
    for path in [
        "/dev/nvidia",
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-caps/nvidia-cap1",
        "/dev/nvidia00",
        "/dev/nvidia007",
        "/dev/nvidia+1",
        "/dev/nvidia-1",
        "/dev/nvidia 1",
        "/dev/nvidia1 ",
        "/dev/nvidia0x1",
        "/dev/nvidia\u{661}",
        "/dev/nvidia4294967296",
        "/dev/Nvidia0",
        "/dev/./nvidia0",
        "/host/dev/nvidia0",
        "",
    ] {
        assert!(!holds_node(gpu(path), grant()), "{path}");
    }
    for kind in ["", "b", "u", "C", "a"] {
        let kind = kind.to_owned();
        assert!(!holds_node(
            Device {
                kind,
                ..gpu("/dev/nvidia0")
            },
            grant()
        ));
    }
}

#[test]
fn a_grant_opens_the_node_for_reading_or_writing() {
    for (access, opens) in [
        ("r", true),
        ("w", true),
        ("rw", true),
        ("mw", true),
        ("m", false),
        ("", false),
    ] {
        let access = access.to_owned();
        let rule = DeviceRule { access, ..grant() };
        assert_eq!(
            holds_node(gpu("/dev/nvidia0"), rule.clone()),
            opens,
            "{rule:?}"
        );
    }
}

#[test]
fn a_rule_that_is_no_grant_of_the_very_node_is_no_evidence() {
    let kind = |kind: &str| DeviceRule {
        kind: kind.to_owned(),
        ..grant()
    };
    let numbers = |major, minor| DeviceRule {
        major,
        minor,
        ..grant()
    };
    let denied = DeviceRule {
        allow: false,
        ..grant()
    };
    let privileged = DeviceRule {
        allow: true,
        access: "rwm".to_owned(),
        ..DeviceRule::default()
    };
    for rule in [
        denied,
        privileged,
        kind("a"),
        kind("b"),
        kind(""),
        numbers(None, Some(3)),
        numbers(Some(195), None),
        numbers(Some(195), Some(0)),
        numbers(Some(0), Some(3)),
    ] {
        assert!(!holds_node(gpu("/dev/nvidia3"), rule.clone()), "{rule:?}");
    }
}

#[test]
fn a_grant_and_a_node_of_different_devices_do_not_add_up() {
    let control = Device {
        minor: 255,
        ..gpu("/dev/nvidiactl")
    };
    let of_control = DeviceRule {
        minor: Some(255),
        ..grant()
    };
    assert!(!is_allocated(&Container {
        devices: vec![gpu("/dev/nvidia3"), control],
        device_rules: vec![of_control],
        ..Container::default()
    }));
}
