//! What a program in a container sees.

mod agreement;

use serde_json::Value;

/// The view from inside: environment, mounts and device nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The environment that the container's program was started with, in order.
    pub env: Vec<(String, String)>,
    /// The mounts, in the order they were made.
    pub mounts: Vec<MountPoint>,
    /// The character devices under `/dev`, by path.
    pub devices: Vec<DeviceNode>,
}

/// A line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountPoint {
    /// What of the file system is mounted.
    pub root: String,
    /// Where.
    pub path: String,
    /// The options of this mount, such as `ro` and `nosuid`.
    pub options: Vec<String>,
}

/// A character device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNode {
    /// Where it is.
    pub path: String,
    /// Its driver's number.
    pub major: u32,
    /// Its own number within the driver.
    pub minor: u32,
    /// Its permission bits.
    pub mode: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
}

impl Inside {
    /// Prints the three, with an empty line between them.
    pub(crate) const SCRIPT: &str = "
        tr '\\0' '\\n' </proc/1/environ; echo
        cat /proc/self/mountinfo; echo
        find /dev -type c -exec stat -c '%n %t %T %a %u %g' {} + | sort";

    pub(crate) fn parse(output: &str) -> Self {
        let mut sections = output.splitn(3, "\n\n").map(str::lines);
        let mut section = || sections.next().unwrap_or_else(|| "".lines());
        Self {
            env: section().filter_map(variable).collect(),
            mounts: section().filter_map(mount_point).collect(),
            devices: section().filter_map(device_node).collect(),
        }
    }

    /// # Panics
    ///
    /// When the program does not see something as the OCI spec has it.
    pub(crate) fn assert_agrees(&self, spec: &Value) {
        agreement::assert_agrees(self, spec);
    }

    /// A variable's value.
    #[must_use]
    pub fn env(&self, key: &str) -> Option<&str> {
        let variable = self.env.iter().find(|(name, _)| name == key)?;
        Some(&variable.1)
    }

    /// The mount at a path: the last one, which covers those before it.
    #[must_use]
    pub fn mount(&self, path: &str) -> Option<&MountPoint> {
        self.mounts.iter().rfind(|mount| mount.path == path)
    }

    /// The devices whose path starts so.
    #[must_use]
    pub fn devices_under(&self, prefix: &str) -> Vec<&DeviceNode> {
        let devices = self.devices.iter();
        devices
            .filter(|device| device.path.starts_with(prefix))
            .collect()
    }
}

fn variable(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=')?;
    Some((key.to_owned(), value.to_owned()))
}

fn mount_point(line: &str) -> Option<MountPoint> {
    let mut fields = line.split(' ').skip(3);
    Some(MountPoint {
        root: fields.next()?.to_owned(),
        path: fields.next()?.to_owned(),
        options: fields.next()?.split(',').map(str::to_owned).collect(),
    })
}

fn device_node(line: &str) -> Option<DeviceNode> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [path, major, minor, mode, uid, gid] = fields[..] else {
        return None;
    };
    Some(DeviceNode {
        path: path.to_owned(),
        major: u32::from_str_radix(major, 16).ok()?,
        minor: u32::from_str_radix(minor, 16).ok()?,
        mode: u32::from_str_radix(mode, 8).ok()?,
        uid: uid.parse().ok()?,
        gid: gid.parse().ok()?,
    })
}
