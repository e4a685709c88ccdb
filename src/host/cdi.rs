//! The nodes of a CDI device, read again only when what they were read from has changed: the specification's file, or a
//! directory of nodes that have to exist.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};

use crate::decide::cdi::{CdiNode, below, missing, nodes};
use crate::path::AbsolutePath;

/// More than any specification of mock GPUs takes.
const MAX_SPECIFICATION: u64 = 1 << 20;

/// For how long after a change another one may carry the same time.
const CLOCK_TICK: Duration = Duration::from_millis(100);

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct LastRead(Mutex<Option<Arc<Known>>>);

/// A device's nodes, and what they were read from.
#[derive(Debug)]
struct Known {
    specification: AbsolutePath,
    name: String,
    overlay: AbsolutePath,
    read_from: Vec<(AbsolutePath, Option<Stamp>)>,
    nodes: Result<Arc<[CdiNode]>, String>,
}

impl LastRead {
    /// The nodes as of now. The lock is never held while the disk is read, which may hang.
    pub(super) fn nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = lock().clone();
        if let Some(known) = last
            && (&known.specification, &*known.name, &known.overlay)
                == (specification, name, overlay)
            && known.is_current()
        {
            return known.nodes.clone();
        }
        let read = Known::read(specification, name, overlay);
        let nodes = read.nodes.clone();
        *lock() = read.can_be_kept().then(|| Arc::new(read));
        nodes
    }
}

impl Known {
    fn read(specification: &AbsolutePath, name: &str, overlay: &AbsolutePath) -> Self {
        // Each stamp is taken before what it stands for is looked at, so that a change in between is seen next time.
        let mut read_from = vec![(specification.clone(), Stamp::of(specification))];
        let listed = text(specification.as_ref()).and_then(|text| nodes(&text, name));
        let nodes = listed.and_then(|nodes| {
            let parents = below(&nodes, overlay).filter_map(AbsolutePath::parent);
            let directories: BTreeSet<AbsolutePath> = parents.collect();
            for directory in directories {
                let stamp = Stamp::of(&directory);
                read_from.push((directory, stamp));
            }
            match missing(&nodes, overlay, |path| fs::metadata(path).is_ok()) {
                Some(path) => Err(format!("its node {path} is not there")),
                None => Ok(nodes.into()),
            }
        });
        Self {
            specification: specification.clone(),
            name: name.to_owned(),
            overlay: overlay.clone(),
            read_from,
            nodes,
        }
    }

    fn is_current(&self) -> bool {
        let mut read_from = self.read_from.iter();
        read_from.all(|(path, stamp)| Stamp::of(path) == *stamp)
    }

    /// Whether a later change is sure to show in a stamp.
    fn can_be_kept(&self) -> bool {
        let Some(settled) = SystemTime::now().checked_sub(CLOCK_TICK) else {
            return false;
        };
        let mut stamps = self.read_from.iter().filter_map(|(_, stamp)| *stamp);
        stamps.all(|stamp| stamp.modified < settled)
    }
}

/// By what a change of a file or a directory shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: SystemTime,
}

impl Stamp {
    /// Of what the path leads to, if that can be looked at.
    fn of(path: &AbsolutePath) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: metadata.modified().ok()?,
        })
    }
}

/// The text of a specification.
fn text(path: &Path) -> Result<String, String> {
    let metadata = fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is not a regular file".to_owned());
    }
    // Without waiting, should it have become a pipe by now.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let mut file = File::from(file).take(MAX_SPECIFICATION + 1);
    let read = file.read_to_string(&mut text);
    match read.map_err(|error| error.to_string())? as u64 {
        0..=MAX_SPECIFICATION => Ok(text),
        _ => Err(format!("it is larger than {MAX_SPECIFICATION} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::time::Instant;

    use tempfile::TempDir;

    use super::*;

    /// A node with an overlay and a specification that names one node of it.
    struct Fixture {
        directory: TempDir,
        last_read: LastRead,
    }

    impl Fixture {
        fn new() -> Self {
            let fixture = Self {
                directory: tempfile::tempdir().unwrap(),
                last_read: LastRead::default(),
            };
            fs::create_dir(fixture.at("overlay")).unwrap();
            fs::write(fixture.at("overlay/nvidia0"), "").unwrap();
            fixture.specify("v/c");
            fixture
        }

        fn at(&self, name: &str) -> AbsolutePath {
            AbsolutePath::new(self.directory.path().join(name).to_str().unwrap()).unwrap()
        }

        fn specify(&self, kind: &str) {
            let node = self.at("overlay/nvidia0");
            let text = format!(
                "kind: {kind}\ndevices:\n- name: all\n  containerEdits:\n    deviceNodes:\n    - path: {node}\n",
            );
            fs::write(self.at("spec.yaml"), text).unwrap();
        }

        fn nodes(&self) -> Result<Arc<[CdiNode]>, String> {
            self.last_read
                .nodes(&self.at("spec.yaml"), "v/c=all", &self.at("overlay"))
        }

        /// Asks until the answer is kept.
        fn settle(&self) -> Arc<[CdiNode]> {
            let patience = Instant::now() + Duration::from_secs(60);
            while self.last_read.0.lock().unwrap().is_none() {
                assert!(Instant::now() < patience);
                self.nodes().unwrap();
            }
            self.nodes().unwrap()
        }
    }

    #[test]
    fn what_has_not_changed_is_not_read_again() {
        let fixture = Fixture::new();
        let first = fixture.settle();
        assert!(Arc::ptr_eq(&first, &fixture.nodes().unwrap()));
    }

    #[test]
    fn a_specification_that_changed_is_read_again_at_once() {
        let fixture = Fixture::new();
        fixture.settle();
        for _ in 0..100 {
            fixture.specify("v/d");
            assert_eq!(fixture.nodes(), Err(r#"its kind is "v/d""#.to_owned()));
            fixture.specify("v/c");
            assert!(fixture.nodes().is_ok());
        }
        fs::remove_file(fixture.at("spec.yaml")).unwrap();
        assert!(fixture.nodes().unwrap_err().contains("No such file"));
    }

    #[test]
    fn a_node_that_went_or_came_is_seen_at_once() {
        let fixture = Fixture::new();
        fixture.settle();
        let node = fixture.at("overlay/nvidia0");
        for _ in 0..100 {
            fs::remove_file(&node).unwrap();
            let gone = format!("its node {node} is not there");
            assert_eq!(fixture.nodes(), Err(gone));
            symlink("/dev/null", &node).unwrap();
            assert!(fixture.nodes().is_ok());
        }
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            Mode::RUSR,
            0,
        )
        .unwrap();
        symlink("pipe", at("link")).unwrap();
        let irregular = Err("it is not a regular file".to_owned());
        for path in [at("pipe"), at("link"), at("."), "/dev/null".into()] {
            assert_eq!(text(&path), irregular, "{path:?}");
        }
        symlink("file", at("link-to-file")).unwrap();
        fs::write(at("file"), "x").unwrap();
        assert_eq!(text(&at("link-to-file")), Ok("x".to_owned()));
    }

    #[test]
    fn a_file_that_is_too_large_or_no_text_is_no_specification() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let size = usize::try_from(MAX_SPECIFICATION).unwrap();
        fs::write(&path, vec![b' '; size]).unwrap();
        assert!(text(&path).is_ok());
        fs::write(&path, vec![b' '; size + 1]).unwrap();
        assert_eq!(
            text(&path),
            Err("it is larger than 1048576 bytes".to_owned())
        );
        fs::write(&path, [0xff]).unwrap();
        assert!(text(&path).is_err());
    }
}
