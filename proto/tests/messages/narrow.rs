use bytes::Bytes;
use nri_proto::{api, narrow};
use prost::Message;

use crate::recordings::{VERSIONS, requests};

/// What decoding all and keeping some has to give.
fn pod(full: &api::PodSandbox) -> narrow::PodSandbox {
    narrow::PodSandbox {
        id: full.id.clone(),
        name: full.name.clone(),
        namespace: full.namespace.clone(),
        labels: full.labels.clone(),
        annotations: full.annotations.clone(),
    }
}

fn container(full: &api::Container) -> narrow::Container {
    let mount = |full: &api::Mount| narrow::Mount {
        destination: full.destination.clone(),
        r#type: full.r#type.clone(),
        source: full.source.clone(),
        options: full.options.clone(),
    };
    let namespace = |full: &api::LinuxNamespace| narrow::LinuxNamespace {
        r#type: full.r#type.clone(),
    };
    let device = |full: &api::LinuxDevice| narrow::LinuxDevice {
        path: full.path.clone(),
        r#type: full.r#type.clone(),
        major: full.major,
        minor: full.minor,
    };
    let resources = |full: &api::LinuxResources| narrow::LinuxResources {
        devices: full.devices.clone(),
    };
    let linux = |full: &api::LinuxContainer| narrow::LinuxContainer {
        namespaces: full.namespaces.iter().map(namespace).collect(),
        devices: full.devices.iter().map(device).collect(),
        resources: full.resources.as_ref().map(resources),
    };
    narrow::Container {
        pod_sandbox_id: full.pod_sandbox_id.clone(),
        name: full.name.clone(),
        state: full.state,
        env: full.env.clone(),
        mounts: full.mounts.iter().map(mount).collect(),
        linux: full.linux.as_ref().map(linux),
        cdi_devices: full.cdi_devices.clone(),
    }
}

fn recorded() -> Vec<api::CreateContainerRequest> {
    VERSIONS
        .iter()
        .flat_map(|version| requests(version, "CreateContainer"))
        .map(|request| serde_json::from_value(request).expect("a request"))
        .collect()
}

#[test]
fn a_request_is_read_as_if_it_had_been_read_whole() {
    for full in recorded() {
        let narrow = narrow::CreateContainerRequest::decode(full.encode_to_vec().as_slice());
        let expected = narrow::CreateContainerRequest {
            pod: full.pod.as_ref().map(pod),
            container: full.container.as_ref().map(container),
        };
        assert_eq!(narrow, Ok(expected));
    }
}

#[test]
fn the_recordings_hold_every_field_that_is_read() {
    let full = recorded();
    let containers = || {
        full.iter()
            .filter_map(|request| request.container.as_ref())
            .map(container)
    };
    assert!(containers().any(|it| !it.cdi_devices.is_empty()));
    assert!(
        containers()
            .flat_map(|it| it.mounts)
            .any(|it| { !it.r#type.is_empty() && !it.source.is_empty() && !it.options.is_empty() })
    );
    let linux = || containers().filter_map(|it| it.linux);
    assert!(
        linux()
            .flat_map(|it| it.namespaces)
            .any(|it| !it.r#type.is_empty())
    );
    assert!(
        linux()
            .flat_map(|it| it.devices)
            .any(|it| it.major != 0 && it.minor != 0)
    );
    assert!(
        linux()
            .filter_map(|it| it.resources)
            .flat_map(|it| it.devices)
            .any(|it| it.allow)
    );
    assert!(
        full.iter()
            .filter_map(|it| it.pod.as_ref())
            .any(|it| !it.annotations.is_empty())
    );
}

fn synchronize(more: bool) -> api::SynchronizeRequest {
    let (pods, containers): (Vec<_>, Vec<_>) = recorded()
        .into_iter()
        .map(|request| (request.pod, request.container))
        .unzip();
    api::SynchronizeRequest {
        pods: pods.into_iter().flatten().collect(),
        containers: containers.into_iter().flatten().collect(),
        more,
    }
}

#[test]
fn what_exists_is_read_item_by_item() {
    for more in [false, true] {
        let full = synchronize(more);
        let narrow = narrow::SynchronizeRequest::decode(Bytes::from(full.encode_to_vec())).unwrap();
        assert_eq!(narrow.more, more);
        assert_eq!(narrow.pods().len(), full.pods.len());
        assert!(narrow.pods().eq(full.pods.iter().map(|full| Ok(pod(full)))));
        assert!(
            narrow
                .containers()
                .eq(full.containers.iter().map(|full| Ok(container(full))))
        );
    }
}

#[test]
fn one_undecodable_container_does_not_hide_the_others() {
    let mut bytes = api::SynchronizeRequest {
        containers: vec![api::Container {
            name: "first".to_owned(),
            ..Default::default()
        }],
        ..Default::default()
    }
    .encode_to_vec();
    // A container of one byte, the start of a number that never ends.
    bytes.extend([0x12, 1, 0x80]);
    bytes.extend_from_slice(&bytes.clone()[..9]);
    let narrow = narrow::SynchronizeRequest::decode(Bytes::from(bytes)).unwrap();
    let names: Vec<_> = narrow.containers().map(|it| it.map(|it| it.name)).collect();
    assert_eq!(names.len(), 3);
    assert_eq!(names[0].as_deref(), Ok("first"));
    assert!(names[1].is_err());
    assert_eq!(names[2].as_deref(), Ok("first"));
}
