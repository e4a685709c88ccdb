//! Panics: a bug met by one request must cost that request its answer, and no more.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `work` gives.
///
/// # Errors
///
/// What `work` said when it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic).to_owned())
}

/// What a panic said.
#[must_use]
pub fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_says_the_same() {
        let number = 7;
        assert_eq!(caught(|| number), Ok(7));
        assert_eq!(
            caught(|| panic!("as tested")),
            Err::<(), _>("as tested".into())
        );
        assert_eq!(
            caught(|| panic!("number {number}")),
            Err::<(), _>("number 7".into())
        );
    }
}
