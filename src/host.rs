//! The real view of what is staged: this host's file system and kernel.

mod cdi;
mod proc_devices;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, open, statat};
use rustix::path::Arg;

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

/// A directory, once opened: what is in it is looked up by its name alone.
struct Directory(OwnedFd);

impl Directory {
    fn open(path: &AbsolutePath) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(open(path.as_str(), flags, Mode::empty())?))
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut buffer = [MaybeUninit::uninit(); 8192];
        let mut listing = RawDir::new(&self.0, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = match entry.file_type() {
                // The listing tells no types. The look-up may fail for one entry.
                FileType::Unknown => statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or(FileType::Unknown, |stat| {
                        FileType::from_raw_mode(stat.st_mode)
                    }),
                kind => kind,
            };
            entries.push(Entry {
                name: name.to_string_lossy().into_owned(),
                is_directory: kind == FileType::Directory,
            });
        }
        Ok(entries)
    }
}

/// What `path` leads to from `directory`, following links.
fn node(directory: impl AsFd, path: impl Arg) -> io::Result<Node> {
    let stat = statat(directory, path, AtFlags::empty())?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice => numbers(stat.st_rdev),
        FileType::Directory => NodeKind::Directory,
        FileType::RegularFile => NodeKind::File,
        _ => NodeKind::Other,
    };
    Ok(Node {
        kind,
        mode: stat.st_mode & 0o777,
        uid: stat.st_uid,
        gid: stat.st_gid,
    })
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Staged for Host {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        Directory::open(directory)?.entries()
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        node(CWD, path.as_str())
    }

    fn nodes(
        &self,
        directory: &AbsolutePath,
        is_wanted: &dyn Fn(&Entry) -> bool,
    ) -> io::Result<Vec<(String, io::Result<Node>)>> {
        let directory = Directory::open(directory)?;
        let wanted = directory.entries()?.into_iter().filter(is_wanted);
        let found = |Entry { name, .. }| {
            let node = node(&directory.0, &*name);
            (name, node)
        };
        Ok(wanted.map(found).collect())
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
