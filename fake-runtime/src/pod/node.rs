//! The node that Pods run on.

use super::cri::Device;
use crate::cdi::{CdiDevice, CdiSpec, ContainerEdits, DeviceNode, Registry};
use crate::host::Host;
use crate::nvidia;

/// A machine with a kubelet and a containerd on it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name, and its host name.
    pub name: String,
    /// Its memory in bytes, by which the kubelet scores who is killed first when it runs out.
    pub memory: i64,
    /// The image of the container that holds a pod's namespaces.
    pub pause_image: String,
    /// The process id of that container, the same for every pod.
    pub sandbox_pid: u32,
    /// What a privileged container sees.
    pub devices: Vec<Device>,
    /// Its CDI specs. Where they are not known, every device is taken for a GPU.
    pub cdi: Option<Host>,
}

impl Node {
    /// A node with that many GPUs, whose device nodes a privileged container inherits.
    #[must_use]
    pub fn new(name: impl Into<String>, gpus: u32) -> Self {
        let mut devices: Vec<Device> = [
            ("/dev/fuse", 10, 229, 0o666),
            ("/dev/full", 1, 7, 0o666),
            ("/dev/kmsg", 1, 11, 0o644),
            ("/dev/mem", 1, 1, 0o640),
            ("/dev/null", 1, 3, 0o666),
            ("/dev/random", 1, 8, 0o666),
            ("/dev/tty", 5, 0, 0o666),
            ("/dev/urandom", 1, 9, 0o666),
            ("/dev/zero", 1, 5, 0o666),
        ]
        .into_iter()
        .map(|(path, major, minor, mode)| Device {
            mode,
            permissions: "rwm".to_owned(),
            ..device(path.to_owned(), major, minor)
        })
        .collect();
        if gpus > 0 {
            devices.extend((0..gpus).map(gpu));
            devices.extend(gpu_control());
        }
        Self {
            name: name.into(),
            memory: 64 << 30,
            pause_image: "registry.k8s.io/pause:3.10".to_owned(),
            sandbox_pid: 4242,
            devices,
            cdi: None,
        }
    }
}

/// A host on which each of the CDI devices is a GPU, numbered in their order.
pub(super) fn host_of_gpus(names: &[String]) -> Host {
    let spec = |(number, name): (u32, &String)| {
        let (kind, name) = name.split_once('=')?;
        let Device {
            path,
            kind: char,
            major,
            minor,
            ..
        } = gpu(number);
        let node = DeviceNode {
            path,
            kind: char,
            major,
            minor,
            ..Default::default()
        };
        Some(CdiSpec {
            kind: kind.to_owned(),
            devices: vec![CdiDevice {
                name: name.to_owned(),
                container_edits: ContainerEdits {
                    device_nodes: vec![node],
                    ..Default::default()
                },
            }],
            ..Default::default()
        })
    };
    let specs: Vec<CdiSpec> = (0..).zip(names).filter_map(spec).collect();
    Host {
        cdi: Registry::from(specs),
        ..Host::default()
    }
}

/// The device node of a GPU, as a device plugin hands it on.
pub(super) fn gpu(number: u32) -> Device {
    device(format!("/dev/nvidia{number}"), nvidia::MAJOR, number)
}

/// The device nodes that every process needs that uses a GPU.
pub(super) fn gpu_control() -> [Device; 3] {
    [
        ("/dev/nvidiactl", nvidia::MAJOR, nvidia::CTL_MINOR),
        ("/dev/nvidia-uvm", nvidia::UVM_MAJOR, 0),
        ("/dev/nvidia-uvm-tools", nvidia::UVM_MAJOR, 1),
    ]
    .map(|(path, major, minor)| device(path.to_owned(), major, minor))
}

fn device(path: String, major: u32, minor: u32) -> Device {
    Device {
        path,
        kind: "c".to_owned(),
        major: major.into(),
        minor: minor.into(),
        mode: 0o666,
        uid: 0,
        gid: 0,
        permissions: "rw".to_owned(),
    }
}
