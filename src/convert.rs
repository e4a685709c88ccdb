//! Between NRI's messages and what the decision works with: the only place that knows both.

mod read;
#[cfg(test)]
mod tests;

use nri_proto::api;
use nri_proto::wire::MAX_BODY;
use nri_proto::wire::envelope::Response;
use prost::Message;

use crate::decide::{Adjustment, BindMount, DeviceGrant, DeviceNode};

pub use read::{Asked, Running, Unreadable, asked, listed, listed_pod, running};

/// The payload of the answer to a CreateContainer request. `None` leaves the container as it is.
pub fn answer(adjustment: Option<Adjustment>) -> Vec<u8> {
    let adjust = adjustment.map(api::ContainerAdjustment::from);
    api::CreateContainerResponse {
        adjust,
        ..Default::default()
    }
    .encode_to_vec()
}

/// Whether the answer with this adjustment is within what one message can hold.
pub fn fits(adjustment: &Adjustment) -> bool {
    // Only a huge one is worth encoding twice.
    if at_most(adjustment) <= MAX_BODY {
        return true;
    }
    let answer = answer(Some(adjustment.clone()));
    Response::from(Ok(answer.into())).encoded_len() <= MAX_BODY
}

/// A bound for the answer's length: that of its texts, and for all the rest more than it can be.
fn at_most(adjustment: &Adjustment) -> usize {
    /// The tags, numbers, type and options of any one item take less, as does the message around them.
    const BESIDES_TEXT: usize = 128;
    let Adjustment {
        mounts,
        env,
        devices,
        device_grants,
        cdi_devices,
    } = adjustment;
    let mounts = mounts
        .iter()
        .map(|mount| mount.source.len() + mount.destination.len());
    let env = env.iter().map(|(key, value)| key.len() + value.len());
    let devices = devices.iter().map(|device| device.path.len());
    let grants = device_grants.iter().map(|_| 0);
    let cdi_devices = cdi_devices.iter().map(String::len);
    let items = mounts
        .chain(env)
        .chain(devices)
        .chain(grants)
        .chain(cdi_devices);
    let length: usize = items.map(|text| text + BESIDES_TEXT).sum();
    length + BESIDES_TEXT
}

impl From<Adjustment> for api::ContainerAdjustment {
    fn from(adjustment: Adjustment) -> Self {
        let Adjustment {
            mounts,
            env,
            devices,
            device_grants,
            cdi_devices,
        } = adjustment;
        let resources = (!device_grants.is_empty()).then(|| api::LinuxResources {
            devices: device_grants.into_iter().map(grant).collect(),
            ..Default::default()
        });
        let linux =
            (!devices.is_empty() || resources.is_some()).then(|| api::LinuxContainerAdjustment {
                devices: devices.into_iter().map(api::LinuxDevice::from).collect(),
                resources,
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

fn grant(device: DeviceGrant) -> api::LinuxDeviceCgroup {
    let number = |number: u32| {
        let value = number.into();
        Some(api::OptionalInt64 { value })
    };
    api::LinuxDeviceCgroup {
        allow: true,
        r#type: DeviceNode::KIND.into(),
        major: number(device.major),
        minor: number(device.minor),
        access: "rw".into(),
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
