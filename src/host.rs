//! The real view of what is staged: this host's file system and kernel.

mod cdi;
mod proc_devices;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::decide::{CdiNode, Entry, Node, NodeKind, Staged};
use crate::path::AbsolutePath;
use cdi::LastRead;
use proc_devices::nvidia_majors;

/// How long the kernel's list of drivers is taken to stay as it was read.
const DRIVERS_FRESH: Duration = Duration::from_secs(5);

/// This host.
#[derive(Debug)]
pub struct Host {
    proc_devices: PathBuf,
    drivers: Mutex<Option<(Instant, Arc<BTreeSet<u32>>)>>,
    unreadable: Once,
    cdi: LastRead,
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
            cdi: LastRead::default(),
        }
    }

    /// The majors of NVIDIA's drivers as of `now`. A list that cannot be read is an empty one.
    fn nvidia_majors_at(&self, now: Instant) -> Arc<BTreeSet<u32>> {
        let mut cached = self.drivers.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = cached
            .take()
            .filter(|(read, _)| now.saturating_duration_since(*read) < DRIVERS_FRESH);
        let read = || (now, Arc::new(self.read_drivers()));
        let (_, majors) = cached.insert(fresh.unwrap_or_else(read));
        Arc::clone(majors)
    }

    fn read_drivers(&self) -> BTreeSet<u32> {
        match fs::read(&self.proc_devices) {
            Ok(list) => nvidia_majors(&String::from_utf8_lossy(&list)),
            Err(error) => {
                self.unreadable.call_once(|| {
                    tracing::warn!(
                        path = %self.proc_devices.display(),
                        %error,
                        "cannot read the kernel's drivers, nodes of a real NVIDIA driver are not told from mock ones",
                    );
                });
                BTreeSet::new()
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

    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        self.cdi.nodes(specification, name, overlay)
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        self.nvidia_majors_at(Instant::now())
    }
}
