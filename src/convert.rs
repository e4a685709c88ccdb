//! Between NRI's messages and what the decision works with: the only place that knows both.

use nri_proto::wire::MAX_BODY;
use nri_proto::{api, narrow};
use prost::{DecodeError, Message};

use crate::decide::{Adjustment, BindMount, Container, Device, DeviceNode, DeviceRule, Mount, Pod};

/// What the runtime asks about. Either may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The pod.
    pub pod: Option<Pod>,
    /// The container.
    pub container: Option<Container>,
}

/// Reads the payload of a CreateContainer request.
///
/// # Errors
///
/// When it is no such request.
pub fn asked(payload: &[u8]) -> Result<Asked, DecodeError> {
    let narrow::CreateContainerRequest { pod, container } = Message::decode(payload)?;
    Ok(Asked {
        pod: pod.map(Pod::from),
        container: container.map(Container::from),
    })
}

/// A container that Synchronize lists, without what only its creation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The runtime's id of its pod.
    pub pod_id: String,
    /// The container; its environment is left out.
    pub container: Container,
}

/// A pod that Synchronize lists, with the runtime's id of it.
pub fn listed_pod(pod: narrow::PodSandbox) -> (String, Pod) {
    (pod.id.clone(), pod.into())
}

/// A container that Synchronize lists, unless it has stopped.
pub fn running(mut container: narrow::Container) -> Option<Running> {
    if container.state() == api::ContainerState::ContainerStopped {
        return None;
    }
    container.env = Vec::new();
    let pod_id = std::mem::take(&mut container.pod_sandbox_id);
    Some(Running {
        pod_id,
        container: container.into(),
    })
}

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

impl From<narrow::PodSandbox> for Pod {
    fn from(pod: narrow::PodSandbox) -> Self {
        let narrow::PodSandbox {
            namespace,
            name,
            labels,
            annotations,
            ..
        } = pod;
        Self {
            namespace,
            name,
            labels,
            annotations,
        }
    }
}

impl From<narrow::Container> for Container {
    fn from(container: narrow::Container) -> Self {
        let linux = container.linux.unwrap_or_default();
        let rules = linux.resources.unwrap_or_default().devices;
        Self {
            name: container.name,
            env: container.env,
            mounts: container.mounts.into_iter().map(Mount::from).collect(),
            user_namespace: linux.namespaces.iter().any(|it| it.r#type == "user"),
            devices: linux.devices.into_iter().map(Device::from).collect(),
            device_rules: rules.into_iter().map(DeviceRule::from).collect(),
            cdi_devices: container
                .cdi_devices
                .into_iter()
                .map(|device| device.name)
                .collect(),
        }
    }
}

impl From<narrow::Mount> for Mount {
    fn from(mount: narrow::Mount) -> Self {
        let narrow::Mount {
            destination,
            r#type: kind,
            source,
            options,
        } = mount;
        Self {
            destination,
            source,
            kind,
            options,
        }
    }
}

impl From<narrow::LinuxDevice> for Device {
    fn from(device: narrow::LinuxDevice) -> Self {
        let narrow::LinuxDevice {
            path,
            r#type: kind,
            major,
            minor,
        } = device;
        Self {
            path,
            kind,
            major,
            minor,
        }
    }
}

impl From<api::LinuxDeviceCgroup> for DeviceRule {
    fn from(rule: api::LinuxDeviceCgroup) -> Self {
        let api::LinuxDeviceCgroup {
            allow,
            r#type: kind,
            major,
            minor,
            access,
        } = rule;
        // An empty wrapper is the number 0, an absent one every number.
        let number = |wrapper: Option<api::OptionalInt64>| wrapper.map(|wrapper| wrapper.value);
        Self {
            allow,
            kind,
            major: number(major),
            minor: number(minor),
            access,
        }
    }
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

    /// What the decision sees of a request with this container, sent as the runtime would.
    fn read(container: api::Container) -> Container {
        let request = api::CreateContainerRequest {
            container: Some(container),
            ..Default::default()
        };
        asked(&request.encode_to_vec()).unwrap().container.unwrap()
    }

    fn rule(major: Option<i64>, minor: Option<i64>) -> api::LinuxDeviceCgroup {
        let number = |number: Option<i64>| number.map(|value| api::OptionalInt64 { value });
        api::LinuxDeviceCgroup {
            allow: true,
            r#type: "c".into(),
            major: number(major),
            minor: number(minor),
            access: "rw".into(),
        }
    }

    fn namespace(kind: &str) -> api::LinuxNamespace {
        api::LinuxNamespace {
            r#type: kind.into(),
            ..Default::default()
        }
    }

    #[test]
    fn what_a_request_leaves_out_is_absent_or_empty() {
        assert_eq!(asked(&[]).unwrap(), Asked::default());
        assert_eq!(read(api::Container::default()), Container::default());
    }

    #[test]
    fn a_pod_is_read_with_all_that_selects_and_names_it() {
        let text = |key: &str, value: &str| [(key.to_owned(), value.to_owned())].into();
        let pod = api::PodSandbox {
            id: "id".into(),
            name: "pod".into(),
            namespace: "space".into(),
            labels: text("l", "1"),
            annotations: text("a", "2"),
            ..Default::default()
        };
        let request = api::CreateContainerRequest {
            pod: Some(pod),
            ..Default::default()
        };
        let pod = Pod {
            namespace: "space".into(),
            name: "pod".into(),
            labels: text("l", "1"),
            annotations: text("a", "2"),
        };
        let expected = Asked {
            pod: Some(pod),
            container: None,
        };
        assert_eq!(asked(&request.encode_to_vec()).unwrap(), expected);
    }

    #[test]
    fn a_container_is_read_with_all_that_the_decision_looks_at() {
        let device = api::LinuxDevice {
            path: "/dev/nvidia0".into(),
            r#type: "c".into(),
            major: 195,
            minor: 3,
            ..Default::default()
        };
        let resources = api::LinuxResources {
            devices: vec![rule(Some(195), Some(3))],
            ..Default::default()
        };
        let container = api::Container {
            name: "main".into(),
            env: vec!["A=1".into(), "A=2".into(), "B".into()],
            mounts: vec![api::Mount {
                destination: "/opt/nvml-mock".into(),
                source: "/elsewhere".into(),
                r#type: "bind".into(),
                options: vec!["rbind".into(), "rshared".into()],
            }],
            linux: Some(api::LinuxContainer {
                namespaces: ["pid", "user"].map(namespace).into(),
                devices: vec![device],
                resources: Some(resources),
                ..Default::default()
            }),
            cdi_devices: vec![api::CdiDevice {
                name: "v/c=d".into(),
            }],
            ..Default::default()
        };
        let rule = DeviceRule {
            allow: true,
            kind: "c".into(),
            major: Some(195),
            minor: Some(3),
            access: "rw".into(),
        };
        let device = Device {
            path: "/dev/nvidia0".into(),
            kind: "c".into(),
            major: 195,
            minor: 3,
        };
        let expected = Container {
            name: "main".into(),
            env: vec!["A=1".into(), "A=2".into(), "B".into()],
            mounts: vec![Mount {
                destination: "/opt/nvml-mock".into(),
                source: "/elsewhere".into(),
                kind: "bind".into(),
                options: vec!["rbind".into(), "rshared".into()],
            }],
            devices: vec![device],
            device_rules: vec![rule],
            cdi_devices: vec!["v/c=d".into()],
            user_namespace: true,
        };
        assert_eq!(read(container), expected);
    }

    #[test]
    fn only_a_namespace_of_the_type_user_is_a_user_namespace() {
        let in_one = |types: &[&str]| {
            let namespaces = types.iter().map(|it| namespace(it)).collect();
            let linux = Some(api::LinuxContainer {
                namespaces,
                ..Default::default()
            });
            read(api::Container {
                linux,
                ..Default::default()
            })
            .user_namespace
        };
        assert!(in_one(&["user"]) && in_one(&["mount", "user", "pid"]));
        assert!(!in_one(&[]) && !in_one(&["mount", "pid", "users", "User", ""]));
    }

    #[test]
    fn a_number_that_is_0_is_not_an_absent_one() {
        let rules = vec![rule(Some(0), Some(0)), rule(None, None)];
        let linux = api::LinuxContainer {
            resources: Some(api::LinuxResources {
                devices: rules,
                ..Default::default()
            }),
            ..Default::default()
        };
        let read = read(api::Container {
            linux: Some(linux),
            ..Default::default()
        })
        .device_rules;
        assert_eq!((read[0].major, read[0].minor), (Some(0), Some(0)));
        assert_eq!((read[1].major, read[1].minor), (None, None));
    }

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
