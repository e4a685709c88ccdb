//! A test whose clock jumps ahead whenever nothing happens, beside others that start processes.
//!
//! Until a process that is being started runs its own program, it holds a copy of every socket of this one, so that
//! what is closed meanwhile is closed for its peer only a moment later: time in which nothing happens.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

static QUIET: RwLock<()> = RwLock::const_new(());

/// Until this is dropped, no other test starts a process.
pub(crate) async fn no_process_starts() -> RwLockReadGuard<'static, ()> {
    QUIET.read().await
}

/// To be held while a process is started.
pub(crate) async fn starting_a_process() -> RwLockWriteGuard<'static, ()> {
    QUIET.write().await
}
