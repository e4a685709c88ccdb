//! What the container gets on top of what it has.

use std::collections::HashSet;

/// What is added to a container, in the order in which it goes on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjustment {
    /// Bind mounts.
    pub mounts: Vec<BindMount>,
    /// Environment variables that are new or get another value.
    pub env: Vec<(String, String)>,
    /// Character device nodes.
    pub devices: Vec<DeviceNode>,
    /// Character devices that the container may use although it gets no node of them, but a mount.
    pub device_grants: Vec<DeviceGrant>,
    /// Fully qualified CDI device names.
    pub cdi_devices: Vec<String>,
}

impl Adjustment {
    /// Whether nothing is added, which on the wire is the same as no adjustment.
    pub fn is_empty(&self) -> bool {
        self.mounts.is_empty()
            && self.env.is_empty()
            && self.devices.is_empty()
            && self.device_grants.is_empty()
            && self.cdi_devices.is_empty()
    }

    /// Keeps the first of each mount destination, environment key, device path and CDI name, and returns the
    /// names of the others: the runtime refuses a container whose adjustment sets one thing twice.
    pub(super) fn drop_repeated(&mut self) -> Vec<String> {
        let mut repeated = Vec::new();
        keep_first(&mut self.mounts, |mount| &mount.destination, &mut repeated);
        keep_first(&mut self.env, |(key, _)| key, &mut repeated);
        keep_first(&mut self.devices, |device| &device.path, &mut repeated);
        keep_first(&mut self.cdi_devices, |name| name, &mut repeated);
        repeated
    }
}

fn keep_first<T>(items: &mut Vec<T>, name: impl Fn(&T) -> &String, repeated: &mut Vec<String>) {
    let mut seen = HashSet::with_capacity(items.len());
    let first = items.iter().map(|item| seen.insert(name(item).as_str()));
    let mut first = first.collect::<Vec<_>>().into_iter();
    items.retain(|item| {
        let first = first.next() == Some(true);
        if !first {
            repeated.push(name(item).clone());
        }
        first
    });
}

/// A bind mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindMount {
    /// The path on the host.
    pub source: String,
    /// The path in the container.
    pub destination: String,
    /// The mount options, in order.
    pub options: &'static [&'static str],
}

impl BindMount {
    /// The OCI mount type of every mount that the plugin adds.
    pub const KIND: &'static str = "bind";
}

/// A character device node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNode {
    /// The path in the container.
    pub path: String,
    /// The major number, as Linux encodes it in `dev_t`.
    pub major: u32,
    /// The minor number, as Linux encodes it in `dev_t`.
    pub minor: u32,
    /// The permission bits (`0777`).
    pub file_mode: u32,
    /// The owning user.
    pub uid: u32,
    /// The owning group.
    pub gid: u32,
}

impl DeviceNode {
    /// The OCI device type of every node that the plugin adds.
    pub const KIND: &'static str = "c";
}

/// Leave to read and write a character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceGrant {
    /// The major number.
    pub major: u32,
    /// The minor number.
    pub minor: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adjustment_that_adds_any_one_thing_is_not_empty() {
        let mount = BindMount {
            source: "/s".to_owned(),
            destination: "/d".to_owned(),
            options: &[],
        };
        let device = DeviceNode {
            path: "/dev/nvidia0".to_owned(),
            major: 195,
            minor: 0,
            file_mode: 0o666,
            uid: 0,
            gid: 0,
        };
        let nothing = Adjustment::default();
        assert!(nothing.is_empty());
        for adjustment in [
            Adjustment {
                mounts: vec![mount],
                ..nothing.clone()
            },
            Adjustment {
                env: vec![("K".to_owned(), "v".to_owned())],
                ..nothing.clone()
            },
            Adjustment {
                devices: vec![device],
                ..nothing.clone()
            },
            Adjustment {
                device_grants: vec![DeviceGrant {
                    major: 195,
                    minor: 0,
                }],
                ..nothing.clone()
            },
            Adjustment {
                cdi_devices: vec!["v/c=d".to_owned()],
                ..nothing.clone()
            },
        ] {
            assert!(!adjustment.is_empty(), "{adjustment:?}");
        }
    }
}
