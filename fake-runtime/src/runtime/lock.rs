//! Locking what connections share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that a panic elsewhere does not poison: whatever was half done there fails the test by itself.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
