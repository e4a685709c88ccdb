//! Panics: a bug met by one request must cost that request its adjustment, and no more.

use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Has panics logged, with where they happened, in place of what Rust prints to stderr.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, error = message(panic.payload()), "panic");
    }));
}

/// What `work` gives.
///
/// # Errors
///
/// What `work` said when it panicked.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| message(&*panic).to_owned())
}

/// What `work` gives, once it is through.
///
/// # Errors
///
/// What `work` said when it panicked; it is not polled again.
pub async fn caught_in<F: Future>(work: F) -> Result<F::Output, String> {
    let mut work = pin!(work);
    poll_fn(|context| match caught(|| work.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// What a panic said.
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

    #[tokio::test]
    async fn a_panic_after_a_while_becomes_an_error_as_well() {
        let through = async {
            tokio::task::yield_now().await;
            7
        };
        assert_eq!(caught_in(through).await, Ok(7));
        let panicking = async {
            tokio::task::yield_now().await;
            panic!("as tested")
        };
        assert_eq!(caught_in(panicking).await, Err::<(), _>("as tested".into()));
    }
}
