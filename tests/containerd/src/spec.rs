//! What a test asks containerd for.

use crate::cri::v1;

/// A pod to run. On the node's network, so that none has to be set up.
#[derive(Clone, Debug)]
pub struct PodSpec(pub(crate) v1::PodSandboxConfig);

impl PodSpec {
    /// A pod without annotations in the namespace `default`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(v1::PodSandboxConfig {
            metadata: Some(v1::PodSandboxMetadata {
                name: name.to_owned(),
                uid: format!("uid-{name}"),
                namespace: "default".to_owned(),
                attempt: 0,
            }),
            linux: Some(v1::LinuxPodSandboxConfig {
                security_context: Some(v1::LinuxSandboxSecurityContext {
                    namespace_options: Some(namespaces()),
                    privileged: false,
                }),
            }),
            ..Default::default()
        })
    }

    /// In this namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        let metadata = self.0.metadata.get_or_insert_default();
        metadata.namespace = namespace.to_owned();
        self
    }

    /// With an annotation.
    #[must_use]
    pub fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// With a label.
    #[must_use]
    pub fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.to_owned(), value.to_owned());
        self
    }

    /// One that privileged containers may be in.
    #[must_use]
    pub fn privileged(mut self) -> Self {
        let linux = self.0.linux.get_or_insert_default();
        linux.security_context.get_or_insert_default().privileged = true;
        self
    }
}

/// A container to create in a pod: busybox, asleep.
#[derive(Clone, Debug)]
pub struct ContainerSpec(pub(crate) v1::ContainerConfig);

impl ContainerSpec {
    /// A container that asks for nothing.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let spec = Self(v1::ContainerConfig {
            metadata: Some(v1::ContainerMetadata {
                name: name.to_owned(),
                attempt: 0,
            }),
            command: vec!["/bin/sleep".to_owned(), "1000000".to_owned()],
            linux: Some(v1::LinuxContainerConfig {
                security_context: Some(v1::LinuxContainerSecurityContext {
                    namespace_options: Some(namespaces()),
                    ..Default::default()
                }),
                ..Default::default()
            }),
            ..Default::default()
        });
        spec.image("busybox")
    }

    /// The next attempt at it, which a pod can hold beside the one before.
    #[must_use]
    pub fn again(mut self) -> Self {
        self.0.metadata.get_or_insert_default().attempt += 1;
        self
    }

    /// From another of the images that `ci/containerd/pod-images` makes.
    #[must_use]
    pub fn image(mut self, name: &str) -> Self {
        self.0.image = Some(v1::ImageSpec {
            image: format!("localhost/{name}:e2e"),
        });
        self
    }

    /// Running this shell script.
    #[must_use]
    pub fn script(mut self, script: &str) -> Self {
        self.0.command = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        self
    }

    /// With these resources.
    #[must_use]
    pub fn resources(mut self, resources: v1::LinuxContainerResources) -> Self {
        self.0.linux.get_or_insert_default().resources = Some(resources);
        self
    }

    /// With a variable in its environment.
    #[must_use]
    pub fn env(mut self, key: &str, value: &str) -> Self {
        self.0.envs.push(v1::KeyValue {
            key: key.to_owned(),
            value: value.to_owned(),
        });
        self
    }

    /// With a mount of a directory of the node.
    #[must_use]
    pub fn mount(mut self, mount: v1::Mount) -> Self {
        self.0.mounts.push(mount);
        self
    }

    /// With a device of the node, as a device plugin hands one out.
    #[must_use]
    pub fn device(mut self, on_node: &str, inside: &str, permissions: &str) -> Self {
        self.0.devices.push(v1::Device {
            container_path: inside.to_owned(),
            host_path: on_node.to_owned(),
            permissions: permissions.to_owned(),
        });
        self
    }

    /// With a CDI device, as a device plugin or DRA driver names one.
    #[must_use]
    pub fn cdi_device(mut self, name: &str) -> Self {
        self.0.cdi_devices.push(v1::CdiDevice {
            name: name.to_owned(),
        });
        self
    }

    /// With every right on the node. Its pod must be privileged too.
    #[must_use]
    pub fn privileged(mut self) -> Self {
        self.security_context().privileged = true;
        self
    }

    /// As another user than root.
    #[must_use]
    pub fn user(mut self, uid: i64) -> Self {
        self.security_context().run_as_user = Some(v1::Int64Value { value: uid });
        self
    }

    /// With a root file system that cannot be written to.
    #[must_use]
    pub fn read_only_root(mut self) -> Self {
        self.security_context().readonly_rootfs = true;
        self
    }

    fn security_context(&mut self) -> &mut v1::LinuxContainerSecurityContext {
        let linux = self.0.linux.get_or_insert_default();
        linux.security_context.get_or_insert_default()
    }
}

fn namespaces() -> v1::NamespaceOption {
    v1::NamespaceOption {
        network: v1::NamespaceMode::Node.into(),
        pid: v1::NamespaceMode::Container.into(),
    }
}
