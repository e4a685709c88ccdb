use std::time::Duration;

use bytes::Bytes;
use nri_proto::wire::{
    CallError, Closed, Code, MAX_BODY, Message, MessageHeader, Side, Split, Status, envelope,
};

use crate::peer::{connect, response};

#[tokio::test]
async fn a_call_gets_its_answer() {
    let mut it = connect(Side::Plugin);
    let call = tokio::spawn(async move { it.caller.call("a.B", "C", b"ask".to_vec()).await });
    let (stream, request) = it.peer.next_request().await;
    assert_eq!(
        (request.service.as_str(), request.method.as_str()),
        ("a.B", "C")
    );
    assert_eq!(
        (request.payload.as_ref(), request.timeout()),
        (b"ask".as_slice(), None)
    );
    it.peer.answer(&response(stream, b"told")).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"told")));
}

#[tokio::test]
async fn answers_may_come_in_any_order() {
    let mut it = connect(Side::Runtime);
    let (first, second) = (it.caller.clone(), it.caller.clone());
    let first = tokio::spawn(async move { first.call("s", "first", vec![]).await });
    let (one, _) = it.peer.next_request().await;
    let second = tokio::spawn(async move { second.call("s", "second", vec![]).await });
    let (two, _) = it.peer.next_request().await;
    it.peer.answer(&response(two, b"two")).await;
    it.peer.answer(&response(one, b"one")).await;
    assert_eq!(first.await.unwrap(), Ok(Bytes::from_static(b"one")));
    assert_eq!(second.await.unwrap(), Ok(Bytes::from_static(b"two")));
}

#[tokio::test]
async fn stream_ids_are_odd_and_rise() {
    let mut it = connect(Side::Plugin);
    let mut streams = Vec::new();
    for _ in 0..3 {
        let caller = it.caller.clone();
        tokio::spawn(async move { caller.call("s", "m", vec![]).await });
        streams.push(it.peer.next_request().await.0);
    }
    assert_eq!(streams, [1, 3, 5]);
}

#[tokio::test]
async fn an_error_of_the_peer_is_told_as_it_said_it() {
    let mut it = connect(Side::Plugin);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    let status = Status::new(Code(99), "no such luck");
    it.peer
        .answer(&Message::response(stream, &Err(status.clone()).into()))
        .await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "no such luck (code 99)");
    assert_eq!(error, CallError::Status(status));
}

#[tokio::test]
async fn an_answer_whose_status_is_ok_went_well() {
    let mut it = connect(Side::Runtime);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    let answer = envelope::Response {
        status: Some(envelope::ResponseStatus::default()),
        payload: Bytes::from_static(b"well"),
    };
    it.peer.answer(&Message::response(stream, &answer)).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"well")));
}

#[tokio::test]
async fn answers_that_nobody_waits_for_are_ignored() {
    let mut it = connect(Side::Plugin);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    it.peer.answer(&response(stream + 2, b"to nobody")).await;
    it.peer.answer(&response(0, b"to nobody")).await;
    it.peer.answer(&response(stream, b"to you")).await;
    it.peer.answer(&response(stream, b"again")).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"to you")));
}

#[tokio::test]
async fn a_dropped_call_is_forgotten_and_its_late_answer_ignored() {
    let mut it = connect(Side::Plugin);
    let given_up = it.caller.clone();
    let given_up = tokio::spawn(async move { given_up.call("s", "given up", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    given_up.abort();
    assert!(given_up.await.unwrap_err().is_cancelled());

    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (next, _) = it.peer.next_request().await;
    it.peer.answer(&response(stream, b"late")).await;
    it.peer.answer(&response(next, b"in time")).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"in time")));
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_no_longer_than_it_said() {
    let mut it = connect(Side::Runtime);
    let time = Duration::from_secs(2);
    let call = tokio::spawn(async move { it.caller.call_within(time, "s", "m", vec![]).await });
    assert_eq!(it.peer.next_request().await.1.timeout(), Some(time));
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "no answer within 2000 ms");
}

#[tokio::test]
async fn a_request_over_the_limit_is_not_sent() {
    let mut it = connect(Side::Runtime);
    let error = it
        .caller
        .call("s", "m", vec![0; MAX_BODY])
        .await
        .unwrap_err();
    assert!(
        matches!(error, CallError::RequestTooLarge(length) if length > MAX_BODY),
        "{error}"
    );
    tokio::spawn(async move { it.caller.call("s", "next", vec![]).await });
    assert_eq!(it.peer.next_request().await.1.method, "next");
}

#[tokio::test]
async fn the_longest_request_is_sent_and_one_byte_more_is_not() {
    let mut it = connect(Side::Runtime);
    let refused = |error| match error {
        Err(CallError::RequestTooLarge(length)) => length,
        other => panic!("sent: {other:?}"),
    };
    let length = refused(it.caller.call("s", "m", vec![0; MAX_BODY]).await);
    let longest = MAX_BODY - (length - MAX_BODY);
    let over = it.caller.call("s", "m", vec![0; longest + 1]).await;
    assert_eq!(refused(over), MAX_BODY + 1);

    tokio::spawn(async move { it.caller.call("s", "m", vec![0; longest]).await });
    assert_eq!(it.peer.next_request().await.1.payload.len(), longest);
}

#[tokio::test]
async fn an_answer_over_the_limit_fails_its_call_and_no_other() {
    let mut it = connect(Side::Runtime);
    let (first, second) = (it.caller.clone(), it.caller);
    let first = tokio::spawn(async move { first.call("s", "m", vec![]).await });
    let (one, _) = it.peer.next_request().await;
    let length = u32::try_from(MAX_BODY + 1).unwrap();
    let header = MessageHeader {
        length,
        stream: one,
        kind: nri_proto::wire::RESPONSE,
        flags: 0,
    };
    let mut message = header.encode().to_vec();
    message.resize(MessageHeader::LEN + MAX_BODY + 1, 0);
    let mut frames = bytes::BytesMut::new();
    Split::CONTAINERD.put(&mut frames, 1, &message);
    it.peer.send_raw(&frames).await;
    assert_eq!(first.await.unwrap(), Err(CallError::AnswerTooLarge(length)));

    let second = tokio::spawn(async move { second.call("s", "m", vec![]).await });
    let (two, _) = it.peer.next_request().await;
    it.peer.answer(&response(two, b"well")).await;
    assert_eq!(second.await.unwrap(), Ok(Bytes::from_static(b"well")));
}

#[tokio::test]
async fn an_answer_that_begins_with_a_long_frame_ends_the_runtimes_connection() {
    let mut it = connect(Side::Runtime);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    let answer = response(stream, &[0; 5000]);
    let whole = Split::every(MAX_BODY);
    it.peer
        .send_raw(&answer.frames(Side::Runtime.calls(), whole))
        .await;
    assert_eq!(call.await.unwrap(), Err(CallError::Closed));
    assert!(matches!(it.driver.await.unwrap(), Closed::Frame(_)));
}

#[tokio::test]
async fn an_undecodable_answer_fails_its_call_and_not_the_connection() {
    let mut it = connect(Side::Runtime);
    let (first, second) = (it.caller.clone(), it.caller);
    let first = tokio::spawn(async move { first.call("s", "m", vec![]).await });
    let (one, _) = it.peer.next_request().await;
    let mut garbage = response(one, b"");
    garbage.body = Bytes::from_static(&[0xff; 16]);
    it.peer.answer(&garbage).await;
    assert!(matches!(
        first.await.unwrap(),
        Err(CallError::Undecodable(_))
    ));

    let second = tokio::spawn(async move { second.call("s", "m", vec![]).await });
    let (two, _) = it.peer.next_request().await;
    it.peer.answer(&response(two, b"well")).await;
    assert_eq!(second.await.unwrap(), Ok(Bytes::from_static(b"well")));
}

#[tokio::test]
async fn a_plugin_ignores_what_is_no_answer_and_waits_on() {
    let mut it = connect(Side::Plugin);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    let mut other = response(stream, b"data");
    other.kind = 3;
    it.peer.answer(&other).await;
    it.peer.answer(&response(stream, b"well")).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"well")));
}

#[tokio::test]
async fn a_runtime_takes_what_is_no_answer_for_a_failure() {
    let mut it = connect(Side::Runtime);
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    let mut other = response(stream, b"data");
    other.kind = 9;
    it.peer.answer(&other).await;
    assert_eq!(call.await.unwrap(), Err(CallError::NotAnAnswer(9)));
}

#[tokio::test]
async fn injected_bytes_go_out_as_they_are_and_in_their_place() {
    let mut it = connect(Side::Runtime);
    it.caller
        .inject(response(77, b"out of nowhere").frames(1, Split::every(3)));
    tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (connection, message) = it.peer.next().await.unwrap();
    assert_eq!((connection, message), (1, response(77, b"out of nowhere")));
    assert_eq!(it.peer.next_request().await.1.method, "m");
}
