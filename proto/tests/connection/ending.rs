use bytes::{Bytes, BytesMut};
use nri_proto::wire::{CallError, Closed, MAX_FRAME, Side, Split, put_frame};
use tokio::io::AsyncWriteExt;

use crate::peer::{connect, connect_over, request};

#[tokio::test]
async fn when_the_peer_closes_open_calls_fail_and_requests_end() {
    let mut it = connect(Side::Plugin);
    let caller = it.caller.clone();
    let call = tokio::spawn(async move { caller.call("s", "m", vec![]).await });
    it.peer.next_request().await;
    drop(it.peer);
    assert!(matches!(it.driver.await.unwrap(), Closed::Peer));
    assert_eq!(call.await.unwrap(), Err(CallError::Closed));
    assert!(it.incoming.next().await.is_none());
    assert_eq!(
        it.caller.call("s", "m", vec![]).await,
        Err(CallError::Closed)
    );
}

#[tokio::test]
async fn a_message_cut_short_is_told_from_a_clean_end() {
    let frames = request(1, "Method", b"payload").frames(1, Split::CONTAINERD);
    for length in 1..frames.len() {
        let mut it = connect(Side::Plugin);
        it.peer.send_raw(&frames[..length]).await;
        drop(it.peer);
        let closed = it.driver.await.unwrap();
        assert!(
            matches!(closed, Closed::Truncated),
            "after {length} bytes: {closed}"
        );
    }
}

#[tokio::test]
async fn a_frame_over_the_limit_ends_the_connection() {
    let mut it = connect(Side::Plugin);
    it.peer.send_raw(&[0xff; 64]).await;
    assert_eq!(
        it.driver.await.unwrap().to_string(),
        format!(
            "a frame of 4294967295 bytes on logical connection 4294967295 is over the limit of {MAX_FRAME}"
        )
    );
    assert!(it.incoming.next().await.is_none());
}

#[tokio::test]
async fn a_runtime_takes_no_more_than_4096_bytes_of_a_message_at_first() {
    let message = request(1, "Method", &[0; 5000]);
    let mut it = connect(Side::Runtime);
    it.peer
        .send_raw(&message.frames(2, Split::every(4096)))
        .await;
    assert_eq!(it.incoming.next().await.unwrap().payload.len(), 5000);
    it.peer
        .send_raw(&message.frames(2, Split::every(4097)))
        .await;
    assert!(it.incoming.next().await.is_none());
    assert_eq!(
        it.driver.await.unwrap().to_string(),
        "a message's first frame of 4097 bytes on logical connection 2 is over the limit of 4096"
    );
}

#[tokio::test]
async fn dropping_the_driver_ends_the_connection() {
    let mut it = connect(Side::Plugin);
    let caller = it.caller.clone();
    let call = tokio::spawn(async move { caller.call("s", "m", vec![]).await });
    it.peer.next_request().await;
    it.driver.abort();
    assert_eq!(call.await.unwrap(), Err(CallError::Closed));
    assert!(it.incoming.next().await.is_none());
    assert!(it.peer.next().await.is_none());
}

#[tokio::test]
async fn a_driver_that_never_ran_fails_its_calls_too() {
    let (ours, _theirs) = tokio::io::duplex(64);
    let (caller, mut incoming, driver) = nri_proto::wire::open(ours, Side::Plugin);
    drop(driver);
    assert_eq!(caller.call("s", "m", vec![]).await, Err(CallError::Closed));
    assert!(incoming.next().await.is_none());
}

#[tokio::test]
async fn answers_that_are_ready_go_out_to_a_peer_that_only_stopped_sending() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Method", b"").await;
    let request = it.incoming.next().await.unwrap();
    it.peer.socket.shutdown().await.unwrap();
    // Before the driver has seen the end of the peer's bytes.
    request.reply(Ok(b"told".to_vec()));
    assert_eq!(
        it.peer.next_answer().await,
        (1, Ok(Bytes::from_static(b"told")))
    );
    assert!(matches!(it.driver.await.unwrap(), Closed::Peer));
}

#[tokio::test]
async fn a_peer_that_reads_nothing_does_not_hold_up_the_end() {
    let mut it = connect_over(Side::Plugin, 256);
    it.peer.ask(1, "Method", b"").await;
    it.incoming.next().await.unwrap().reply(Ok(vec![0; 10_000]));
    it.peer.socket.shutdown().await.unwrap();
    assert!(matches!(it.driver.await.unwrap(), Closed::Peer));
}

#[tokio::test]
async fn closing_answers_what_is_in_flight_and_takes_nothing_more() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "InFlight", b"").await;
    it.peer.ask(3, "Waiting", b"").await;
    let in_flight = it.incoming.next().await.unwrap();
    it.incoming.close();
    it.peer.ask(5, "TooLate", b"").await;
    let waiting = it.incoming.next().await.unwrap();
    assert!(it.incoming.next().await.is_none());
    in_flight.reply(Ok(b"first".to_vec()));
    waiting.reply(Ok(vec![9; 100_000]));
    assert_eq!(
        it.peer.next_answer().await,
        (1, Ok(Bytes::from_static(b"first")))
    );
    assert_eq!(it.peer.next_answer().await.1.unwrap().len(), 100_000);
    assert!(
        it.peer.next().await.is_none(),
        "the late one is not answered"
    );
    assert!(matches!(it.driver.await.unwrap(), Closed::Stopped));
}

#[tokio::test]
async fn closing_an_idle_connection_closes_it_at_once() {
    let mut it = connect(Side::Plugin);
    it.incoming.close();
    assert!(matches!(it.driver.await.unwrap(), Closed::Stopped));
    assert!(it.peer.next().await.is_none());
}

#[tokio::test]
async fn requests_nobody_took_stay_without_an_answer() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "First", b"").await;
    it.peer.ask(3, "Second", b"").await;
    let first = it.incoming.next().await.unwrap();
    drop(it.incoming);
    first.reply(Ok(b"first".to_vec()));
    assert_eq!(
        it.peer.next_answer().await,
        (1, Ok(Bytes::from_static(b"first")))
    );
    assert!(it.peer.next().await.is_none());
}

#[tokio::test]
async fn frames_of_other_connections_cost_nothing_and_end_nothing() {
    let mut it = connect(Side::Plugin);
    let mut frame = BytesMut::new();
    put_frame(&mut frame, 3, &vec![0; MAX_FRAME]);
    it.peer.send_raw(&frame).await;
    it.peer.ask(1, "Method", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Method");
}
