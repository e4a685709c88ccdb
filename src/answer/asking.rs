//! What is asked, and until when.

use std::time::Instant;

use nri_stub::{Answer, Call};

/// A request about a container.
pub trait Asking {
    /// The request as it came.
    fn payload(&self) -> &[u8];
    /// When it came.
    fn came(&self) -> Instant;
    /// When it is answered without its decision.
    fn deadline(&self) -> Option<Instant>;
    /// How it is answered then. What `answer` holds is let go of as soon as the request is answered, by whomever.
    fn when_late(&self, answer: impl FnOnce() -> Answer + Send + 'static);
    /// Whether a decision is still wanted.
    fn is_open(&self) -> bool;
    /// Whether what can hang may be done for it.
    fn may_block(&self) -> bool;
    /// Whether the decision came in time: then it is the answer.
    fn claim(&self) -> bool;
}

impl Asking for Call<'_> {
    fn payload(&self) -> &[u8] {
        Call::payload(self)
    }

    fn came(&self) -> Instant {
        Call::came(self)
    }

    fn deadline(&self) -> Option<Instant> {
        Call::deadline(self)
    }

    fn when_late(&self, answer: impl FnOnce() -> Answer + Send + 'static) {
        Call::when_late(self, answer);
    }

    fn is_open(&self) -> bool {
        Call::is_open(self)
    }

    fn may_block(&self) -> bool {
        Call::may_block(self)
    }

    fn claim(&self) -> bool {
        Call::claim(self)
    }
}
