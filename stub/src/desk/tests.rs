//! The hand-over under every order of events, by loom. Time is a number of steps that a test chooses.

use std::time::{Duration, Instant};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::*;

const STALL: Duration = Duration::from_millis(10);
const DEADLINE: Duration = Duration::from_millis(100);

/// The reading end, of which there is one.
#[derive(Debug, PartialEq, Eq)]
struct Reader;

type Tested = Desk<Reader, &'static str>;

fn desk() -> Tested {
    let desk = Desk::new(Limits {
        stall: STALL,
        threads: 8,
    });
    desk.thread_starts();
    desk
}

fn begin(desk: &Tested, job: &'static str, at: Instant) -> Turn {
    desk.begin(0, Reader, job, at, Some(at + DEADLINE)).unwrap()
}

#[test]
fn a_request_is_answered_once_by_its_handler_or_when_late() {
    loom::model(|| {
        let at = Instant::now();
        let desk = Arc::new(desk());
        let answers = Arc::new(AtomicUsize::new(0));
        let turn = begin(&desk, "slow", at);
        let (theirs, counted) = (Arc::clone(&desk), Arc::clone(&answers));
        let handler = thread::spawn(move || {
            if let Some(claim) = theirs.claim(&turn) {
                counted.fetch_add(1, Ordering::Relaxed);
                theirs.finish(claim);
            }
        });
        // The reading end is no subject here.
        desk.next_at(at + STALL);
        if let Some(Step::Late(claim, "slow")) = desk.next_at(at + DEADLINE) {
            answers.fetch_add(1, Ordering::Relaxed);
            desk.finish(claim);
        }
        handler.join().unwrap();
        assert_eq!(answers.load(Ordering::Relaxed), 1);
        assert!(desk.is_clear());
    });
}

#[test]
fn exactly_one_thread_reads_on_after_a_handler_that_took_long() {
    loom::model(|| {
        let at = Instant::now();
        let desk = Arc::new(desk());
        let turn = begin(&desk, "slow", at);
        let theirs = Arc::clone(&desk);
        let handler = thread::spawn(move || theirs.take_back(&turn).is_some());
        let passed = matches!(desk.next_at(at + STALL), Some(Step::Pass(Reader)));
        assert_ne!(handler.join().unwrap(), passed);
    });
}

#[test]
fn the_reading_end_is_not_lost_where_there_is_no_thread_for_it() {
    loom::model(|| {
        let at = Instant::now();
        let desk = Arc::new(desk());
        let turn = begin(&desk, "slow", at);
        let theirs = Arc::clone(&desk);
        let handler = thread::spawn(move || theirs.take_back(&turn).is_some());
        if let Some(Step::Pass(reader)) = desk.next_at(at + STALL) {
            desk.put_back(reader, at + STALL);
        }
        let kept = handler.join().unwrap();
        let again = matches!(desk.next_at(at + 3 * STALL), Some(Step::Pass(Reader)));
        assert_ne!(kept, again);
    });
}

#[test]
fn a_request_that_waits_for_a_thread_is_run_again_once_one_has_come_back() {
    loom::model(|| {
        let at = Instant::now();
        let desk = Arc::new(desk());
        let hung = begin(&desk, "hung", at);
        assert!(matches!(desk.next_at(at + STALL), Some(Step::Pass(Reader))));
        let mut waiting = begin(&desk, "waiting", at + STALL);

        let theirs = Arc::clone(&desk);
        let comes_back = thread::spawn(move || {
            assert!(theirs.take_back(&hung).is_none());
            let mut runs = 0;
            while let Some((turn, "waiting")) = theirs.resume() {
                runs += 1;
                let claim = theirs.claim(&turn).unwrap();
                theirs.finish(claim);
            }
            runs
        });
        let mut runs = 0;
        if !desk.park(&mut waiting) {
            // It came back in between: run again here.
            runs += 1;
            let claim = desk.claim(&waiting).unwrap();
            desk.finish(claim);
        }
        runs += comes_back.join().unwrap();
        assert_eq!(runs, 1);
    });
}

#[test]
fn what_an_ended_connection_still_reads_does_not_displace_the_next_ones_reading_end() {
    loom::model(|| {
        let at = Instant::now();
        let desk = Arc::new(desk());
        let theirs = Arc::clone(&desk);
        let old = thread::spawn(move || {
            let turn = theirs.begin(0, Reader, "old", at, None);
            turn.is_some_and(|turn| theirs.take_back(&turn).is_some())
        });
        desk.clear();
        let turn = desk.begin(1, Reader, "new", at, None).unwrap();
        old.join().unwrap();
        assert!(desk.take_back(&turn).is_some());
    });
}

#[test]
fn a_handler_that_calls_the_runtime_is_not_waited_for_until_it_stalls() {
    loom::model(|| {
        let at = Instant::now();
        let desk = desk();
        let turn = begin(&desk, "calls", at);
        assert_eq!(desk.next_at(at), None);
        desk.hurry(&turn);
        assert_eq!(desk.next_at(at), Some(Step::Pass(Reader)));
    });
}

#[test]
fn where_all_threads_are_taken_a_handler_is_told_not_to_block() {
    loom::model(|| {
        let at = Instant::now();
        let desk = desk();
        for _ in 0..7 {
            assert!(begin(&desk, "hung", at).may_block);
            assert!(matches!(desk.next_at(at + STALL), Some(Step::Pass(Reader))));
        }
        assert!(!begin(&desk, "next", at).may_block);
        assert!(!matches!(
            desk.next_at(at + STALL),
            Some(Step::Pass(Reader))
        ));
    });
}
