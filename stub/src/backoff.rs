//! How long to wait before the next attempt to register.

use std::time::Duration;

/// The first delay that is one.
const SHORTEST: Duration = Duration::from_millis(25);

/// A runtime that answers again is to have the plugin back within a second: half of it for noticing,
/// half for registering.
const LONGEST: Duration = Duration::from_millis(500);

/// A connection that held for this long was no part of the trouble before it.
const HELD: Duration = Duration::from_secs(5);

/// Delays that grow with each attempt: none, then doubling.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    next: Duration,
}

impl Backoff {
    /// The delay before the coming attempt.
    pub(super) fn delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).clamp(SHORTEST, LONGEST);
        delay
    }

    /// A registered connection ended after `held`. Where it did not last, the delays go on growing: a
    /// runtime that drops everybody must not be hammered.
    pub(super) fn lost_after(&mut self, held: Duration) {
        if held >= HELD {
            self.next = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(backoff: &mut Backoff, attempts: usize) -> Vec<u128> {
        (0..attempts).map(|_| backoff.delay().as_millis()).collect()
    }

    #[test]
    fn the_first_attempt_is_at_once_and_the_delays_then_double_to_half_a_second() {
        let expected = [0, 25, 50, 100, 200, 400, 500, 500];
        assert_eq!(delays(&mut Backoff::default(), 8), expected);
    }

    #[test]
    fn a_connection_that_held_starts_the_delays_anew() {
        let mut backoff = Backoff::default();
        delays(&mut backoff, 5);
        backoff.lost_after(HELD);
        assert_eq!(delays(&mut backoff, 3), [0, 25, 50]);
    }

    #[test]
    fn a_connection_that_did_not_hold_keeps_them_growing() {
        let mut backoff = Backoff::default();
        delays(&mut backoff, 3);
        backoff.lost_after(HELD / 2);
        assert_eq!(delays(&mut backoff, 2), [100, 200]);
    }
}
