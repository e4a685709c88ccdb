//! Device nodes.

use crate::cdi::{CdiDevice, CdiSpec, ContainerEdits, DeviceNode, Registry};
use crate::host::Host;
use crate::nvidia;
use crate::pod::cri::Device;

/// What a node with that many GPUs has that a privileged container sees.
pub(super) fn usual(gpus: u32) -> Vec<Device> {
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
    devices
}

/// A host on which each of the CDI devices is a GPU, numbered in their order.
#[must_use]
pub fn host_of_gpus(names: &[String]) -> Host {
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
pub(in crate::pod) fn gpu(number: u32) -> Device {
    device(format!("/dev/nvidia{number}"), nvidia::MAJOR, number)
}

/// The device nodes that every process needs that uses a GPU.
pub(in crate::pod) fn gpu_control() -> [Device; 3] {
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
