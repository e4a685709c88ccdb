//! Handlers that hang.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nri_stub::api::{self, Event, plugin};
use nri_stub::{Call, Limits, Reply, Stub};

use crate::peer::{Peer, register, start};

/// The time that the runtime gives a request.
const TIMEOUT: Duration = Duration::from_millis(1000);

/// Four fifths of it.
const BUDGET: Duration = Duration::from_millis(800);

/// A handler that hangs over the request "hang" until the sender is dropped, and answers "told" to others.
fn hanging() -> (Sender<()>, impl Fn(&Call<'_>) -> Reply + Send + Sync) {
    let (release, hang): (_, Receiver<()>) = channel();
    let hang = Mutex::new(hang);
    let handler = move |call: &Call<'_>| {
        if *call.payload() == encoded("hang") {
            let _ = hang.lock().unwrap().recv();
        }
        Reply::Answer(Ok(encoded("told")))
    };
    (release, handler)
}

fn named(name: &str) -> api::PodSandbox {
    api::PodSandbox {
        id: name.into(),
        ..Default::default()
    }
}

fn encoded(name: &str) -> Vec<u8> {
    prost::Message::encode_to_vec(&named(name))
}

fn stub(handler: impl Fn(&Call<'_>) -> Reply + Send + Sync + 'static) -> Stub {
    Stub::new("tested", "10").raw(Event::CreateContainer, handler)
}

fn registered(stub: Stub) -> (crate::peer::Running, Peer) {
    let (running, mut peer) = start(|_| stub);
    peer.register(&api::ConfigureRequest {
        request_timeout: TIMEOUT.as_millis().try_into().unwrap(),
        ..Default::default()
    });
    (running, peer)
}

fn ask(peer: &mut Peer, stream: u32, name: &str) {
    peer.ask(stream, plugin::CREATE_CONTAINER, &named(name));
}

#[test]
fn a_hung_handler_is_answered_for_at_its_deadline_and_nobody_waits_behind_it() {
    let (release, handler) = hanging();
    let (_running, mut peer) = registered(stub(handler));
    let begun = Instant::now();
    ask(&mut peer, 3, "hang");
    ask(&mut peer, 5, "other");
    assert_eq!(peer.answer(), (5, Ok(encoded("told").into())));
    assert!(begun.elapsed() < BUDGET, "{:?}", begun.elapsed());
    assert_eq!(peer.answer(), (3, Ok(Vec::new().into())));
    assert!(begun.elapsed() >= BUDGET);
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    // What comes back late is not sent: the next answer is the next request's.
    drop(release);
    ask(&mut peer, 7, "other");
    assert_eq!(peer.answer().0, 7);
}

#[test]
fn what_a_late_answer_holds_is_let_go_of_when_the_request_is_answered() {
    struct Held(Arc<AtomicBool>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.store(false, Ordering::SeqCst);
        }
    }
    let (_release, hang) = hanging();
    let held = Arc::new(AtomicBool::new(false));
    let holds = Arc::clone(&held);
    let (_running, mut peer) = registered(stub(move |call| {
        holds.store(true, Ordering::SeqCst);
        let guard = Held(Arc::clone(&holds));
        call.when_late(move || {
            drop(guard);
            Ok(encoded("late"))
        });
        hang(call)
    }));
    for (name, told) in [("other", "told"), ("hang", "late")] {
        ask(&mut peer, 3, name);
        assert_eq!(peer.answer(), (3, Ok(encoded(told).into())));
        assert!(!held.load(Ordering::SeqCst), "{name}");
    }
}

#[test]
fn a_thousand_requests_that_need_what_hangs_are_each_in_time_on_a_handful_of_threads() {
    let (release, hang) = hanging();
    let is_hung = AtomicBool::new(false);
    let (_running, mut peer) = registered(stub(move |call| {
        if is_hung.swap(true, Ordering::SeqCst) {
            return Reply::Wait;
        }
        let reply = hang(call);
        is_hung.store(false, Ordering::SeqCst);
        reply
    }));
    let threads = || fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    let begun = Instant::now();
    for number in 0..1000 {
        ask(&mut peer, 2 * number + 3, "hang");
    }
    for _ in 0..1000 {
        assert_eq!(peer.answer().1, Ok(Vec::new().into()));
    }
    assert!(begun.elapsed() < TIMEOUT, "{:?}", begun.elapsed());
    // Other tests of this process have theirs.
    assert!(threads() < before + 100, "{}", threads());

    // After it has come back, all is well again.
    drop(release);
    let told = |peer: &mut Peer| {
        ask(peer, 3, "other");
        peer.answer().1 == Ok(encoded("told").into())
    };
    while !told(&mut peer) {}
}

#[test]
fn a_request_that_waited_is_answered_once_what_hung_has_come_back() {
    let (release, hang) = hanging();
    let is_hung = AtomicBool::new(false);
    let (_running, mut peer) = registered(stub(move |call| {
        if is_hung.swap(true, Ordering::SeqCst) {
            return Reply::Wait;
        }
        let reply = hang(call);
        is_hung.store(false, Ordering::SeqCst);
        reply
    }));
    ask(&mut peer, 3, "hang");
    ask(&mut peer, 5, "waits");
    ask(&mut peer, 7, "waits");
    std::thread::sleep(BUDGET / 4);
    drop(release);
    let mut answered: Vec<_> = (0..3).map(|_| peer.answer()).collect();
    answered.sort_by_key(|(stream, _)| *stream);
    let told = || Ok(encoded("told").into());
    assert_eq!(answered, [(3, told()), (5, told()), (7, told())]);
}

#[test]
fn it_stops_within_the_drain_limit_although_a_handler_hangs() {
    let (_release, handler) = hanging();
    let drain = Duration::from_millis(200);
    let limits = Limits {
        drain,
        ..Limits::default()
    };
    // The runtime's own limit is 2 s.
    let (running, mut peer) = register(stub(handler).limits(limits));
    ask(&mut peer, 3, "hang");
    ask(&mut peer, 5, "other");
    assert_eq!(peer.answer().0, 5);
    let begun = Instant::now();
    running.stop.request();
    assert_eq!(peer.answer(), (3, Ok(Vec::new().into())));
    assert!(peer.is_closed());
    running.ended().unwrap();
    assert!(
        (drain..2 * drain).contains(&begun.elapsed()),
        "{:?}",
        begun.elapsed()
    );
}

#[test]
fn a_stream_in_use_is_refused_until_it_is_answered() {
    let (release, handler) = hanging();
    let (_running, mut peer) = registered(stub(handler));
    ask(&mut peer, 3, "hang");
    ask(&mut peer, 3, "other");
    let (stream, answer) = peer.answer();
    assert_eq!(
        (stream, answer.unwrap_err().message.as_str()),
        (3, "stream id 3 is in use")
    );
    drop(release);
    assert_eq!(peer.answer(), (3, Ok(encoded("told").into())));
    ask(&mut peer, 3, "other");
    assert_eq!(peer.answer(), (3, Ok(encoded("told").into())));
}

#[test]
fn a_peer_that_reads_no_answers_is_cut_off_before_they_pile_up() {
    let (_running, mut peer) = register(stub(|_| Reply::Answer(Ok(vec![0; 100_000]))));
    peer.socket
        .set_write_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let frames = {
        let envelope = nri_proto::wire::envelope::Request {
            service: plugin::SERVICE.into(),
            method: plugin::CREATE_CONTAINER.into(),
            ..Default::default()
        };
        let split = nri_proto::wire::Split::CONTAINERD;
        split.frames(1, 3, nri_proto::wire::REQUEST, &envelope)
    };
    let mut asked = 0;
    while std::io::Write::write_all(&mut peer.socket, &frames).is_ok() {
        asked += 1;
    }
    assert!(asked >= 1024);
}
