//! File systems that fail as real ones do, for tests: one directory, served over FUSE by the test itself.
//!
//! Its listing tells no entry's type, as that of ext4 without `filetype` and of many network file systems. Single
//! entries fail, or hang until they are released.

mod protocol;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::makedev;
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

use protocol::{Attributes, ROOT, Request};

/// What an entry is.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// An empty regular file.
    File,
    /// An empty directory.
    Directory,
    /// A character device of these numbers.
    CharDevice(u32, u32),
    /// Listed, and when it is looked up the error of this number.
    Fails(i32),
}

/// The name under which the listing itself hangs.
pub const LISTING: &str = ".";

/// A mounted directory. Dropped, it is unmounted, and what hangs there fails.
#[derive(Debug)]
pub struct Mount {
    directory: TempDir,
    served: Arc<Served>,
}

#[derive(Debug)]
struct Served {
    device: File,
    entries: Vec<(String, Entry)>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The names that hang.
    hanging: BTreeSet<String>,
    /// The requests that do.
    held: Vec<Request>,
}

impl Mount {
    /// Mounts a directory with these entries.
    ///
    /// # Panics
    ///
    /// Without root, or without FUSE.
    #[must_use]
    pub fn new<'a>(entries: impl IntoIterator<Item = (&'a str, Entry)>) -> Self {
        Self::try_new(entries).expect("root, and a kernel with FUSE")
    }

    fn try_new<'a>(entries: impl IntoIterator<Item = (&'a str, Entry)>) -> io::Result<Self> {
        let device = File::options().read(true).write(true).open("/dev/fuse")?;
        let directory = tempfile::tempdir()?;
        let options = format!(
            "fd={},rootmode=40000,user_id=0,group_id=0",
            device.as_raw_fd()
        );
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        let options = std::ffi::CString::new(options)?;
        mount("fuse-mount", directory.path(), "fuse", flags, &*options)?;
        let entries = entries.into_iter();
        let served = Arc::new(Served {
            device,
            entries: entries
                .map(|(name, entry)| (name.to_owned(), entry))
                .collect(),
            state: Mutex::default(),
        });
        let serving = Arc::clone(&served);
        thread::spawn(move || serving.serve());
        Ok(Self { directory, served })
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Lets whatever asks about `name` from now on hang; [`LISTING`] is the directory's own listing.
    pub fn hang(&self, name: &str) {
        self.served.state().hanging.insert(name.to_owned());
    }

    /// How many requests hang.
    #[must_use]
    pub fn held(&self) -> usize {
        self.served.state().held.len()
    }

    /// Answers what hangs, and lets nothing hang any more.
    pub fn release(&self) {
        let held = {
            let mut state = self.served.state();
            state.hanging.clear();
            std::mem::take(&mut state.held)
        };
        for request in held {
            self.served.answer(&request);
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.release();
        // Detached, it is gone from here also while somebody is in it.
        let _ = unmount(self.path(), UnmountFlags::DETACH);
    }
}

impl Served {
    /// Answers the kernel until the directory is unmounted.
    fn serve(&self) {
        let mut buffer = vec![0; protocol::LONGEST_REQUEST];
        loop {
            match (&self.device).read(&mut buffer) {
                Ok(length) => {
                    if let Some(request) = Request::read(&buffer[..length]) {
                        self.take(request);
                    }
                }
                // A request that was withdrawn before it was read.
                Err(error) if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    fn take(&self, request: Request) {
        let mut state = self.state();
        match self.name(&request) {
            Some(name) if state.hanging.contains(name) => state.held.push(request),
            _ => {
                drop(state);
                self.answer(&request);
            }
        }
    }

    /// What the request is about.
    fn name<'a>(&'a self, request: &'a Request) -> Option<&'a str> {
        match request.opcode {
            protocol::LOOKUP => request.name(),
            protocol::READDIR => Some(LISTING),
            _ => {
                let place = usize::try_from(request.node.checked_sub(ROOT + 1)?).ok()?;
                Some(&self.entries.get(place)?.0)
            }
        }
    }

    fn answer(&self, request: &Request) {
        let answer = match request.opcode {
            protocol::FORGET | protocol::BATCH_FORGET | protocol::INTERRUPT => return,
            protocol::INIT => Ok(protocol::init()),
            protocol::LOOKUP => self.look_up(request.name().unwrap_or_default()),
            protocol::GETATTR => self.attributes(request.node).map(protocol::attributes),
            protocol::OPEN | protocol::OPENDIR => Ok(protocol::opened()),
            protocol::READDIR => Ok(self.listing(request)),
            protocol::RELEASE | protocol::RELEASEDIR | protocol::FLUSH => Ok(Vec::new()),
            _ => Err(Errno::NOSYS.raw_os_error()),
        };
        // Fails where the request has been withdrawn.
        let _ = (&self.device).write(&request.answer(answer));
    }

    fn look_up(&self, name: &str) -> Result<Vec<u8>, i32> {
        let place = self.entries.iter().position(|(entry, _)| entry == name);
        let node = place.ok_or(Errno::NOENT.raw_os_error())? as u64 + ROOT + 1;
        self.attributes(node).map(protocol::entry)
    }

    fn attributes(&self, node: u64) -> Result<Attributes, i32> {
        let entry = match node {
            ROOT => Entry::Directory,
            _ => self.entries[usize::try_from(node - ROOT - 1).expect("a place in memory")].1,
        };
        let (mode, rdev) = match entry {
            Entry::File => (0o100_644, 0),
            Entry::Directory => (0o040_755, 0),
            Entry::CharDevice(major, minor) => (0o020_666, makedev(major, minor)),
            Entry::Fails(error) => return Err(error),
        };
        Ok(Attributes { node, mode, rdev })
    }

    fn listing(&self, request: &Request) -> Vec<u8> {
        let names = [".", ".."].into_iter();
        let names = names.chain(self.entries.iter().map(|(name, _)| name.as_str()));
        protocol::listing(names, request.offset(), request.room())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
