//! The fake runtime's words for what a test asks for over CRI.

use fake_runtime::host::HostNode;
use fake_runtime::pod::cri::{Container, Device, Mount, Namespaces, Sandbox, User};
use fake_runtime::pod::manifest::Propagation;

use crate::cri::v1;

pub(super) fn sandbox(config: &v1::PodSandboxConfig) -> Sandbox {
    let metadata = config.metadata.clone().unwrap_or_default();
    Sandbox {
        name: metadata.name,
        namespace: metadata.namespace,
        uid: metadata.uid,
        labels: config.labels.clone().into_iter().collect(),
        annotations: config.annotations.clone().into_iter().collect(),
        namespaces: Namespaces {
            host_network: true,
            ..Default::default()
        },
        ..Default::default()
    }
}

pub(super) fn container(config: &v1::ContainerConfig) -> Container {
    let metadata = config.metadata.clone().unwrap_or_default();
    let image = config.image.clone().unwrap_or_default();
    let security = config.linux.unwrap_or_default();
    let security = security.security_context.unwrap_or_default();
    let user = security.run_as_user.map_or(0, |user| user.value);
    let user = u32::try_from(user).expect("a user has a number");
    let env = config.envs.iter();
    Container {
        name: metadata.name,
        image: image.image,
        args: config.command.clone(),
        env: env.map(|it| (it.key.clone(), it.value.clone())).collect(),
        mounts: config.mounts.iter().map(mount).collect(),
        devices: config.devices.iter().map(device).collect(),
        cdi_devices: config
            .cdi_devices
            .iter()
            .map(|it| it.name.clone())
            .collect(),
        privileged: security.privileged,
        readonly_root: security.readonly_rootfs,
        user: User {
            uid: user,
            gid: user,
            groups: Vec::new(),
        },
        ..Default::default()
    }
}

fn mount(mount: &v1::Mount) -> Mount {
    Mount {
        container_path: mount.container_path.clone(),
        host_path: mount.host_path.clone(),
        readonly: mount.readonly,
        propagation: match mount.propagation() {
            v1::MountPropagation::Private => Propagation::None,
            v1::MountPropagation::HostToContainer => Propagation::HostToContainer,
            v1::MountPropagation::Bidirectional => Propagation::Bidirectional,
        },
        ..Default::default()
    }
}

fn device(device: &v1::Device) -> Device {
    let node = HostNode::at(&device.host_path).expect("the device is on the node");
    Device {
        path: device.container_path.clone(),
        kind: node.kind,
        major: node.major,
        minor: node.minor,
        mode: node.mode,
        uid: 0,
        gid: 0,
        permissions: device.permissions.clone(),
    }
}
