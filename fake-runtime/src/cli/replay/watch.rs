//! Waiting until one of some files changes.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How often the files are looked at. Asking is cheap and, unlike being told, works on every file system and for
/// files that an editor or a linker puts in the place of others.
const INTERVAL: Duration = Duration::from_millis(200);

/// Files, and how they were when they were last looked at.
pub(super) struct Watch {
    files: Vec<PathBuf>,
    seen: Vec<Option<(SystemTime, u64)>>,
}

impl Watch {
    pub(super) fn new(files: Vec<PathBuf>) -> Self {
        let seen = look(&files);
        Self { files, seen }
    }

    /// Resolves when one of them is another, and all of them have been the same for a moment: a file that is still
    /// being written is waited for.
    pub(super) async fn changed(&mut self) {
        let mut settled = true;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let now = look(&self.files);
            let same = now == self.seen;
            self.seen = now;
            match (same, settled) {
                (true, false) if self.seen.iter().all(Option::is_some) => return,
                (true, _) => {}
                (false, _) => settled = false,
            }
        }
    }
}

/// When each was last written, and how long it is; `None` where there is none.
fn look(files: &[PathBuf]) -> Vec<Option<(SystemTime, u64)>> {
    let look = |file: &PathBuf| {
        let metadata = file.metadata().ok()?;
        Some((metadata.modified().ok()?, metadata.len()))
    };
    files.iter().map(look).collect()
}
