//! Looking at the disk on behalf of a request, so that one thread at most gets stuck on each place that hangs.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::decide::{CdiNode, Entry, Node, Staged};
use crate::path::AbsolutePath;

/// Where threads look at this moment.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// A place is empty while its thread looks nowhere. It keeps its memory for the next.
    looked_at: Mutex<Vec<String>>,
}

impl Places {
    /// `None` where another thread looks at `path` or at a directory above it: what hangs there would hang here.
    pub(super) fn look_at(&self, path: &str) -> Option<Looked<'_>> {
        let mut places = self.lock();
        if places.iter().any(|place| is_within(path, place)) {
            return None;
        }
        let free = places.iter().position(String::is_empty);
        let place = free.unwrap_or_else(|| {
            places.push(String::new());
            places.len() - 1
        });
        places[place].push_str(path);
        Some(Looked {
            places: self,
            place,
        })
    }

    // A panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.looked_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_within(path: &str, place: &str) -> bool {
    !place.is_empty()
        && path
            .strip_prefix(place)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || place == "/")
}

/// A look that is under way.
pub(super) struct Looked<'a> {
    places: &'a Places,
    place: usize,
}

impl Drop for Looked<'_> {
    fn drop(&mut self) {
        self.places.lock()[self.place].clear();
    }
}

/// Why no more is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Another request looks where this one has to.
    InTheWay,
    /// The request has been answered by now.
    Late,
}

/// What is staged, as one request sees it. Once it has stopped, nothing that it tells may be decided by.
pub(super) struct Looking<'a, S, O> {
    staged: &'a S,
    places: &'a Places,
    /// Whether the request still waits for its answer.
    is_open: O,
    stopped: Cell<Option<Stopped>>,
}

impl<'a, S: Staged, O: Fn() -> bool> Looking<'a, S, O> {
    pub(super) fn new(staged: &'a S, places: &'a Places, is_open: O) -> Self {
        Self {
            staged,
            places,
            is_open,
            stopped: Cell::new(None),
        }
    }

    /// Why nothing may be decided by what was seen, if so.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.stopped.get()
    }

    fn look<T>(
        &self,
        path: &AbsolutePath,
        look: impl FnOnce(&S) -> io::Result<T>,
    ) -> io::Result<T> {
        if self.stopped.get().is_some() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let Some(looked) = self.places.look_at(path.as_str()) else {
            self.stopped.set(Some(Stopped::InTheWay));
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let seen = look(self.staged);
        drop(looked);
        if !(self.is_open)() {
            self.stopped.set(Some(Stopped::Late));
        }
        seen
    }
}

impl<S: Staged, O: Fn() -> bool> Staged for Looking<'_, S, O> {
    fn entries(&self, directory: &AbsolutePath) -> io::Result<Vec<Entry>> {
        self.look(directory, |staged| staged.entries(directory))
    }

    fn node(&self, path: &AbsolutePath) -> io::Result<Node> {
        self.look(path, |staged| staged.node(path))
    }

    fn nodes(
        &self,
        directory: &AbsolutePath,
        is_wanted: &dyn Fn(&Entry) -> bool,
    ) -> io::Result<Vec<(String, io::Result<Node>)>> {
        self.look(directory, |staged| staged.nodes(directory, is_wanted))
    }

    fn cdi_nodes(
        &self,
        specification: &AbsolutePath,
        name: &str,
        overlay: &AbsolutePath,
    ) -> Result<Arc<[CdiNode]>, String> {
        let looked = self.look(specification, |staged| {
            Ok(staged.cdi_nodes(specification, name, overlay))
        });
        looked.unwrap_or_else(|error| Err(error.to_string()))
    }

    fn nvidia_majors(&self) -> Arc<BTreeSet<u32>> {
        self.staged.nvidia_majors()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_looked_at_by_one_thread_at_a_time_and_so_is_all_below_it() {
        let places = Places::default();
        let looked = places.look_at("/overlay/dev").unwrap();
        for path in ["/overlay/dev", "/overlay/dev/nvidia0"] {
            assert!(places.look_at(path).is_none(), "{path}");
        }
        for path in ["/overlay", "/overlay/dev2", "/overlay/driver"] {
            assert!(places.look_at(path).is_some(), "{path}");
        }
        drop(looked);
        assert!(places.look_at("/overlay/dev").is_some());
    }

    #[test]
    fn places_are_let_go_of_in_any_order() {
        let places = Places::default();
        let first = places.look_at("/a").unwrap();
        let second = places.look_at("/b").unwrap();
        drop(first);
        assert!(places.look_at("/b/c").is_none());
        let third = places.look_at("/").unwrap();
        drop(second);
        assert!(places.look_at("/b").is_none());
        drop(third);
        assert!(places.look_at("/b").is_some());
    }
}
