//! What is written of an adjustment.

use super::*;

#[test]
fn an_adjustment_fits_to_the_last_byte_that_a_message_holds() {
    let device = DeviceNode {
        path: "/dev/nvidia0".to_owned(),
        major: 195,
        minor: 0,
        file_mode: 0o666,
        uid: 0,
        gid: 0,
    };
    // Many small things, whose texts are the smaller part of them, and one large text.
    let adjustment = |length| Adjustment {
        devices: vec![device.clone(); 50_000],
        device_grants: vec![
            DeviceGrant {
                major: 195,
                minor: 0
            };
            10
        ],
        env: vec![("K".to_owned(), "x".repeat(length))],
        ..Adjustment::default()
    };
    let sent = |length| {
        let answer = answer(Some(adjustment(length)));
        Response::from(Ok(answer.into())).encoded_len()
    };
    let most = MAX_BODY - sent(2_200_000) + 2_200_000;
    assert_eq!((sent(most), sent(most + 1)), (MAX_BODY, MAX_BODY + 1));
    assert!(fits(&adjustment(most)));
    assert!(!fits(&adjustment(most + 1)));
}

#[test]
fn the_bound_of_an_answer_is_never_below_its_length() {
    let text = |length: usize| "x".repeat(length);
    let options = &["rbind", "rprivate", "rw", "nosuid", "noexec"];
    let number = u32::MAX;
    for length in [0, 1, 127, 128, 20_000, MAX_BODY] {
        let adjustment = Adjustment {
            mounts: vec![BindMount {
                source: text(length),
                destination: text(length),
                options,
            }],
            env: vec![(text(length), text(length))],
            devices: vec![DeviceNode {
                path: text(length),
                major: number,
                minor: number,
                file_mode: number,
                uid: number,
                gid: number,
            }],
            device_grants: vec![DeviceGrant {
                major: number,
                minor: number,
            }],
            cdi_devices: vec![text(length)],
        };
        let answer = answer(Some(adjustment.clone()));
        let sent = Response::from(Ok(answer.into())).encoded_len();
        assert!(sent <= at_most(&adjustment), "{length}");
    }
}

#[test]
fn no_adjustment_is_an_empty_answer() {
    assert!(answer(None).is_empty());
}

#[test]
fn an_adjustment_is_answered_with_present_owners_and_mode_also_when_0() {
    let adjustment = Adjustment {
        mounts: vec![BindMount {
            source: "/s".into(),
            destination: "/d".into(),
            options: &["rbind", "ro"],
        }],
        env: vec![("K".into(), "v".into())],
        devices: vec![DeviceNode {
            path: "/dev/nvidia0".into(),
            major: 195,
            minor: 1 << 19,
            file_mode: 0,
            uid: 0,
            gid: 0,
        }],
        device_grants: vec![DeviceGrant {
            major: 195,
            minor: 0,
        }],
        cdi_devices: vec!["v/c=d".into()],
    };
    let number = |value| Some(api::OptionalInt64 { value });
    let granted = api::LinuxDeviceCgroup {
        allow: true,
        r#type: "c".into(),
        major: number(195),
        minor: number(0),
        access: "rw".into(),
    };
    let granted = api::LinuxResources {
        devices: vec![granted],
        ..Default::default()
    };
    let device = api::LinuxDevice {
        path: "/dev/nvidia0".into(),
        r#type: "c".into(),
        major: 195,
        minor: 1 << 19,
        file_mode: Some(api::OptionalFileMode { value: 0 }),
        uid: Some(api::OptionalUInt32 { value: 0 }),
        gid: Some(api::OptionalUInt32 { value: 0 }),
    };
    let expected = api::ContainerAdjustment {
        mounts: vec![api::Mount {
            destination: "/d".into(),
            r#type: "bind".into(),
            source: "/s".into(),
            options: vec!["rbind".into(), "ro".into()],
        }],
        env: vec![api::KeyValue {
            key: "K".into(),
            value: "v".into(),
        }],
        linux: Some(api::LinuxContainerAdjustment {
            devices: vec![device],
            resources: Some(granted),
            ..Default::default()
        }),
        cdi_devices: vec![api::CdiDevice {
            name: "v/c=d".into(),
        }],
        ..Default::default()
    };
    let answer = api::CreateContainerResponse::decode(&*answer(Some(adjustment))).unwrap();
    assert_eq!(answer.adjust, Some(expected));
    assert!(answer.update.is_empty() && answer.evict.is_empty());
}

#[test]
fn an_adjustment_without_devices_says_nothing_of_linux() {
    let env = vec![("K".into(), "v".into())];
    let answer = answer(Some(Adjustment {
        env,
        ..Adjustment::default()
    }));
    let adjust = api::CreateContainerResponse::decode(&*answer)
        .unwrap()
        .adjust
        .unwrap();
    assert_eq!(adjust.linux, None);
}
