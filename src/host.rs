//! The real view of what is staged: this host's file system and kernel.

mod proc_devices;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::decide::{Entry, Node, NodeKind, Staged};
use crate::path::AbsolutePath;
use proc_devices::CharDrivers;

/// How long the kernel's list of drivers is taken to stay as it was read.
const DRIVERS_FRESH: Duration = Duration::from_secs(5);

/// This host.
#[derive(Debug)]
pub struct Host {
    proc_devices: PathBuf,
    drivers: Mutex<Option<(Instant, CharDrivers)>>,
    unreadable: Once,
}

impl Host {
    /// A view of this host that has read nothing yet.
    pub fn new() -> Self {
        Self::with_proc_devices("/proc/devices")
    }

    /// The same with another list of the kernel's drivers.
    pub fn with_proc_devices(path: impl Into<PathBuf>) -> Self {
        Self {
            proc_devices: path.into(),
            drivers: Mutex::new(None),
            unreadable: Once::new(),
        }
    }

    /// The drivers of a major as of `now`. A list that cannot be read is an empty one.
    fn char_drivers_at(&self, now: Instant, major: u32) -> Vec<String> {
        let mut cached = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = cached
            .take()
            .filter(|(read, _)| now.saturating_duration_since(*read) < DRIVERS_FRESH);
        let (_, drivers) = cached.insert(fresh.unwrap_or_else(|| (now, self.read_drivers())));
        drivers.of(major).to_vec()
    }

    fn read_drivers(&self) -> CharDrivers {
        match fs::read(&self.proc_devices) {
            Ok(list) => CharDrivers::parse(&String::from_utf8_lossy(&list)),
            Err(error) => {
                self.unreadable.call_once(|| {
                    tracing::warn!(
                        path = %self.proc_devices.display(),
                        %error,
                        "cannot read the kernel's drivers, nodes of a real NVIDIA driver are not told from mock ones",
                    );
                });
                CharDrivers::default()
            }
        }
    }
}

/// The numbers of a character device, of which Linux packs 32 bits each into the 64 of `dev_t`.
fn numbers(dev: u64) -> NodeKind {
    NodeKind::CharDevice {
        major: rustix::fs::major(dev),
        minor: rustix::fs::minor(dev),
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Staged for Host {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        fs::read_dir(directory)?
            .map(|entry| {
                let entry = entry?;
                Ok(Entry {
                    name: entry.file_name().to_string_lossy().into_owned(),
                    // Where the listing tells no types this is a look-up of its own, which may fail for one entry.
                    is_directory: entry.file_type().is_ok_and(|kind| kind.is_dir()),
                })
            })
            .collect()
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        let metadata = fs::metadata(path)?;
        let kind = metadata.file_type();
        let kind = if kind.is_char_device() {
            numbers(metadata.rdev())
        } else if kind.is_dir() {
            NodeKind::Directory
        } else if kind.is_file() {
            NodeKind::File
        } else {
            NodeKind::Other
        };
        Ok(Node {
            kind,
            mode: metadata.mode() & 0o777,
            uid: metadata.uid(),
            gid: metadata.gid(),
        })
    }

    fn char_drivers(&self, major: u32) -> Vec<String> {
        self.char_drivers_at(Instant::now(), major)
    }
}
