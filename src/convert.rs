//! Between NRI's messages and what the decision works with: the only place that knows both.

mod read;

use nri_proto::api;
use nri_proto::wire::MAX_BODY;
use prost::Message;

use crate::decide::{Adjustment, BindMount, DeviceNode};

pub use read::{
    Asked, CONTAINERS, PODS, Running, Unreadable, asked, listed, listed_pod, more, running,
};

/// The payload of the answer to a CreateContainer request. `None` leaves the container as it is.
pub fn answer(adjustment: Option<Adjustment>) -> Vec<u8> {
    let adjust = adjustment.map(api::ContainerAdjustment::from);
    api::CreateContainerResponse {
        adjust,
        ..Default::default()
    }
    .encode_to_vec()
}

/// Whether the answer with this adjustment is within what one message can hold. Reckoned from its texts and a
/// bound for all the rest, so that a hair under the limit is already too much.
pub fn fits(adjustment: &Adjustment) -> bool {
    /// The tags, numbers, type and options of any one item take less, as does the message around them.
    const BESIDES_TEXT: usize = 128;
    let Adjustment {
        mounts,
        env,
        devices,
        cdi_devices,
    } = adjustment;
    let mounts = mounts
        .iter()
        .map(|mount| mount.source.len() + mount.destination.len());
    let env = env.iter().map(|(key, value)| key.len() + value.len());
    let devices = devices.iter().map(|device| device.path.len());
    let cdi_devices = cdi_devices.iter().map(String::len);
    let items = mounts.chain(env).chain(devices).chain(cdi_devices);
    let length: usize = items.map(|text| text + BESIDES_TEXT).sum();
    length + BESIDES_TEXT <= MAX_BODY
}

impl From<Adjustment> for api::ContainerAdjustment {
    fn from(adjustment: Adjustment) -> Self {
        let Adjustment {
            mounts,
            env,
            devices,
            cdi_devices,
        } = adjustment;
        let linux = (!devices.is_empty()).then(|| api::LinuxContainerAdjustment {
            devices: devices.into_iter().map(api::LinuxDevice::from).collect(),
            ..Default::default()
        });
        Self {
            mounts: mounts.into_iter().map(api::Mount::from).collect(),
            env: env
                .into_iter()
                .map(|(key, value)| api::KeyValue { key, value })
                .collect(),
            linux,
            cdi_devices: cdi_devices
                .into_iter()
                .map(|name| api::CdiDevice { name })
                .collect(),
            ..Default::default()
        }
    }
}

impl From<BindMount> for api::Mount {
    fn from(mount: BindMount) -> Self {
        let BindMount {
            source,
            destination,
            options,
        } = mount;
        Self {
            destination,
            r#type: BindMount::KIND.into(),
            source,
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        }
    }
}

impl From<DeviceNode> for api::LinuxDevice {
    fn from(node: DeviceNode) -> Self {
        let DeviceNode {
            path,
            major,
            minor,
            file_mode,
            uid,
            gid,
        } = node;
        Self {
            path,
            r#type: DeviceNode::KIND.into(),
            major: major.into(),
            minor: minor.into(),
            file_mode: Some(api::OptionalFileMode { value: file_mode }),
            uid: Some(api::OptionalUInt32 { value: uid }),
            gid: Some(api::OptionalUInt32 { value: gid }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_within_a_message_and_what_is_over_does_not_fit() {
        let devices = |count: usize, path: usize| Adjustment {
            devices: vec![
                DeviceNode {
                    path: "x".repeat(path),
                    major: u32::MAX,
                    minor: u32::MAX,
                    file_mode: u32::MAX,
                    uid: u32::MAX,
                    gid: u32::MAX,
                };
                count
            ],
            ..Adjustment::default()
        };
        let fitting = devices(30_000, 10);
        assert!(fits(&fitting));
        assert!(answer(Some(fitting)).len() < MAX_BODY);
        let over = devices(1000, 5000);
        assert!(!fits(&over));
        assert!(answer(Some(over)).len() > MAX_BODY);
    }

    #[test]
    fn every_text_of_an_adjustment_counts_to_the_last_byte() {
        let text = |length: usize| "x".repeat(length);
        let mount = |source, destination| Adjustment {
            mounts: vec![BindMount {
                source: text(source),
                destination: text(destination),
                options: &[],
            }],
            ..Adjustment::default()
        };
        let env = |key, value| Adjustment {
            env: vec![(text(key), text(value))],
            ..Adjustment::default()
        };
        let cdi_device = |vendor, class| Adjustment {
            cdi_devices: vec![text(vendor) + &text(class)],
            ..Adjustment::default()
        };
        let kinds: [&dyn Fn(usize, usize) -> Adjustment; 3] = [&mount, &env, &cdi_device];
        let most = MAX_BODY - 2 * 128;
        for kind in kinds {
            assert!(fits(&kind(10, most - 10)) && fits(&kind(most - 10, 10)));
            assert!(!fits(&kind(11, most - 10)) && !fits(&kind(most - 10, 11)));
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
            cdi_devices: vec!["v/c=d".into()],
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
}
