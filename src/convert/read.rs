//! From a request's bytes to what the decision works with. What nothing is decided by is not kept, whatever its size:
//! a message has 4 MiB, and the plugin 32 MiB for all it does.

use nri_proto::api::ContainerState;
use nri_proto::fields::{Field, Fields, Malformed};
use thiserror::Error;

use crate::config::Config;
use crate::decide::{self, Container, Device, DeviceRule, Mount, Pod};

/// More mounts, devices or rules than this no container can have: what holds them is no request of a runtime's.
const MOST_ITEMS: usize = 10_000;

/// As many items of an environment are kept, and one more of each key.
const MOST_VARIABLES: usize = 1000;

/// Why a request cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Unreadable {
    /// It is no such message.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It lists too much.
    #[error("more than {MOST_ITEMS} mounts, devices, device rules or CDI devices")]
    TooMany,
}

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
pub fn asked(config: &Config, payload: &[u8]) -> Result<Asked, Unreadable> {
    let mut asked = Asked::default();
    for field in Fields::of(payload) {
        let field = field?;
        match field.number {
            1 => read_pod(config, field.fields()?, asked.pod.get_or_insert_default())?,
            2 => read_container(field.fields()?, asked.container.get_or_insert_default())?,
            _ => {}
        }
    }
    Ok(asked)
}

/// What a Synchronize request lists in the field `list`, each still encoded.
pub fn listed(payload: &[u8], list: u32) -> impl Iterator<Item = &[u8]> {
    let fields = Fields::of(payload).map_while(Result::ok);
    let listed = fields.filter(move |field| field.number == list);
    listed.filter_map(|field| field.bytes().ok())
}

/// A pod that Synchronize lists, with the runtime's id of it.
///
/// # Errors
///
/// When it is no pod.
pub fn listed_pod(config: &Config, bytes: &[u8]) -> Result<(String, Pod), Unreadable> {
    let mut pod = Pod::default();
    read_pod(config, Fields::of(bytes), &mut pod)?;
    Ok((text(bytes, 1)?.to_owned(), pod))
}

/// A container that Synchronize lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// The runtime's id of its pod.
    pub pod_id: String,
    /// The container.
    pub container: Container,
}

/// A container that Synchronize lists, unless it has stopped.
///
/// # Errors
///
/// When it is no container.
pub fn running(bytes: &[u8]) -> Result<Option<Running>, Unreadable> {
    for field in Fields::of(bytes) {
        let field = field?;
        if field.number == 4 && field.varint()? == ContainerState::ContainerStopped as u64 {
            return Ok(None);
        }
    }
    let mut container = Container::default();
    read_container(Fields::of(bytes), &mut container)?;
    let pod_id = text(bytes, 2)?.to_owned();
    Ok(Some(Running { pod_id, container }))
}

/// The text in field `number` of a message; the last, if there are several.
fn text(message: &[u8], number: u32) -> Result<&str, Malformed> {
    let mut text = "";
    for field in Fields::of(message) {
        let field = field?;
        if field.number == number {
            text = field.text()?;
        }
    }
    Ok(text)
}

fn read_pod(config: &Config, fields: Fields<'_>, pod: &mut Pod) -> Result<(), Malformed> {
    for field in fields {
        let field = field?;
        match field.number {
            2 => pod.name = field.text()?.to_owned(),
            4 => pod.namespace = field.text()?.to_owned(),
            5 => {
                let (key, value) = field.entry()?;
                if decide::reads_label(key) {
                    pod.labels.insert(key.to_owned(), value.to_owned());
                }
            }
            6 => {
                let (key, value) = field.entry()?;
                if decide::reads_annotation(config, key) {
                    pod.annotations.insert(key.to_owned(), value.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn read_container(fields: Fields<'_>, container: &mut Container) -> Result<(), Unreadable> {
    for field in fields {
        let field = field?;
        match field.number {
            3 => container.name = field.text()?.to_owned(),
            8 => keep_variable(&mut container.env, field.text()?),
            9 => push(&mut container.mounts, mount(field.fields()?)?)?,
            11 => read_linux(field.fields()?, container)?,
            20 => push(
                &mut container.cdi_devices,
                text(field.bytes()?, 1)?.to_owned(),
            )?,
            _ => {}
        }
    }
    Ok(())
}

/// Keeps the items that are read. Where one key comes too often, its last value is kept, which is the one that counts.
fn keep_variable(env: &mut Vec<String>, item: &str) {
    let Some((key, _)) = item.split_once('=') else {
        return;
    };
    if !decide::reads_variable(key) {
        return;
    }
    let is_same = |kept: &&mut String| kept.split_once('=').is_some_and(|(other, _)| other == key);
    match env.len() < MOST_VARIABLES {
        true => env.push(item.to_owned()),
        false => match env.iter_mut().rfind(is_same) {
            Some(last) => item.clone_into(last),
            None => env.push(item.to_owned()),
        },
    }
}

fn mount(fields: Fields<'_>) -> Result<Mount, Malformed> {
    let mut mount = Mount::default();
    for field in fields {
        let field = field?;
        match field.number {
            1 => mount.destination = field.text()?.to_owned(),
            2 => mount.kind = field.text()?.to_owned(),
            3 => mount.source = field.text()?.to_owned(),
            4 => {
                let option = field.text()?;
                if decide::reads_option(option) && !mount.options.iter().any(|it| it == option) {
                    mount.options.push(option.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok(mount)
}

fn read_linux(fields: Fields<'_>, container: &mut Container) -> Result<(), Unreadable> {
    for field in fields {
        let field = field?;
        match field.number {
            1 => container.user_namespace |= text(field.bytes()?, 1)? == "user",
            2 => push(&mut container.devices, device(field.fields()?)?)?,
            3 => {
                for field in field.fields()? {
                    let field = field?;
                    if field.number == 7 {
                        push(&mut container.device_rules, device_rule(field.fields()?)?)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn device(fields: Fields<'_>) -> Result<Device, Malformed> {
    let mut device = Device::default();
    for field in fields {
        let field = field?;
        match field.number {
            1 => device.path = field.text()?.to_owned(),
            2 => device.kind = field.text()?.to_owned(),
            3 => device.major = field.varint()?.cast_signed(),
            4 => device.minor = field.varint()?.cast_signed(),
            _ => {}
        }
    }
    Ok(device)
}

fn device_rule(fields: Fields<'_>) -> Result<DeviceRule, Malformed> {
    let mut rule = DeviceRule::default();
    for field in fields {
        let field = field?;
        match field.number {
            1 => rule.allow = field.varint()? != 0,
            2 => rule.kind = field.text()?.to_owned(),
            3 => rule.major = Some(wrapped(field, rule.major)?),
            4 => rule.minor = Some(wrapped(field, rule.minor)?),
            5 => rule.access = field.text()?.to_owned(),
            _ => {}
        }
    }
    Ok(rule)
}

/// The number in a wrapper, of which an empty one is the number 0. Where it comes twice, it is as if it were one.
fn wrapped(wrapper: Field<'_>, before: Option<i64>) -> Result<i64, Malformed> {
    let mut number = before.unwrap_or_default();
    for field in wrapper.fields()? {
        let field = field?;
        if field.number == 1 {
            number = field.varint()?.cast_signed();
        }
    }
    Ok(number)
}

fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), Unreadable> {
    if items.len() == MOST_ITEMS {
        return Err(Unreadable::TooMany);
    }
    items.push(item);
    Ok(())
}

#[cfg(test)]
mod tests {
    use nri_proto::api;
    use prost::Message;

    use super::*;
    use crate::flags::Flags;

    fn read_all(request: &api::CreateContainerRequest) -> Asked {
        let config = Config::resolve(Flags::default()).unwrap();
        asked(&config, &request.encode_to_vec()).unwrap()
    }

    /// What the decision sees of a request with this container, sent as the runtime would.
    fn read(container: api::Container) -> Container {
        let request = api::CreateContainerRequest {
            container: Some(container),
            ..Default::default()
        };
        read_all(&request).container.unwrap()
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
        assert_eq!(
            read_all(&api::CreateContainerRequest::default()),
            Asked::default()
        );
        assert_eq!(read(api::Container::default()), Container::default());
    }

    #[test]
    fn a_pod_is_read_with_all_that_selects_and_names_it() {
        const DOMAIN: &str = "resource.nvidia.com/computeDomain";
        const GPU: &str = "nvml-mock.nvidia.com/devices";
        let text = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let pod = api::PodSandbox {
            id: "id".into(),
            name: "pod".into(),
            namespace: "space".into(),
            labels: [text(DOMAIN, "1"), text("app", "x")].into(),
            annotations: [text(GPU, "2"), text("note", "x")].into(),
            ..Default::default()
        };
        let request = api::CreateContainerRequest {
            pod: Some(pod),
            ..Default::default()
        };
        let pod = Pod {
            namespace: "space".into(),
            name: "pod".into(),
            labels: [text(DOMAIN, "1")].into(),
            annotations: [text(GPU, "2")].into(),
        };
        let expected = Asked {
            pod: Some(pod),
            container: None,
        };
        assert_eq!(read_all(&request), expected);
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
            env: ["PATH=1", "A=1", "PATH=2", "PATH", "PATH_A=1"]
                .map(String::from)
                .into(),
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
            env: vec!["PATH=1".into(), "PATH=2".into()],
            mounts: vec![Mount {
                destination: "/opt/nvml-mock".into(),
                source: "/elsewhere".into(),
                kind: "bind".into(),
                options: vec!["rshared".into()],
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
    fn of_a_key_that_comes_without_end_the_last_value_is_kept() {
        let most = i32::try_from(MOST_VARIABLES).unwrap();
        let mut env: Vec<String> = (0..3 * most)
            .map(|number| format!("PATH={number}"))
            .collect();
        env.push("MOCK_IB=off".to_owned());
        let container = api::Container {
            env,
            ..Default::default()
        };
        let kept = read(container).env;
        assert_eq!(kept.len(), MOST_VARIABLES + 1);
        assert_eq!(kept[0], "PATH=0");
        assert_eq!(kept[MOST_VARIABLES - 1], format!("PATH={}", 3 * most - 1));
        assert_eq!(kept[MOST_VARIABLES], "MOCK_IB=off");
    }

    #[test]
    fn a_container_with_more_mounts_than_there_can_be_is_not_read() {
        let with = |mounts| api::CreateContainerRequest {
            container: Some(api::Container {
                mounts: vec![api::Mount::default(); mounts],
                ..Default::default()
            }),
            ..Default::default()
        };
        let config = Config::resolve(Flags::default()).unwrap();
        assert!(asked(&config, &with(MOST_ITEMS).encode_to_vec()).is_ok());
        let over = asked(&config, &with(MOST_ITEMS + 1).encode_to_vec());
        assert_eq!(over, Err(Unreadable::TooMany));
    }
}
