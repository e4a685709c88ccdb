//! When the kubelet starts anew.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use inotify::{EventStream, Inotify, WatchMask};
use tokio_stream::StreamExt;

/// The kubelet's socket.
pub(crate) const SOCKET: &str = "kubelet.sock";

/// The starts of the kubelet from now on.
pub(crate) struct Restarts(EventStream<[u8; 1024]>);

impl Restarts {
    pub(crate) fn watch(directory: &Path) -> io::Result<Self> {
        let inotify = Inotify::init()?;
        inotify.watches().add(directory, WatchMask::CREATE)?;
        Ok(Self(inotify.into_event_stream([0; 1024])?))
    }

    /// Waits for the kubelet to make its socket.
    pub(crate) async fn next(&mut self) {
        while let Some(event) = self.0.next().await {
            if event.is_ok_and(|event| event.name.as_deref() == Some(OsStr::new(SOCKET))) {
                return;
            }
        }
    }
}
