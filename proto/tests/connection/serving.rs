use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use nri_proto::wire::{
    Closed, Code, MAX_BODY, MessageHeader, PLUGIN_CONNECTION, REQUEST, RUNTIME_CONNECTION, Side,
    Split, put_frame,
};

use crate::peer::{connect, connect_over, request, response};

#[tokio::test]
async fn a_request_is_given_whole_and_its_answer_goes_back() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Method", b"ask").await;
    let request = it.incoming.next().await.unwrap();
    assert_eq!(request.service, "test.Service");
    assert_eq!(request.method, "Method");
    assert_eq!(request.payload, b"ask".as_slice());
    assert_eq!(request.timeout, None);
    request.reply(Ok(b"told".to_vec()));
    assert_eq!(
        it.peer.next_answer().await,
        (1, Ok(Bytes::from_static(b"told")))
    );
}

#[tokio::test]
async fn a_request_tells_how_long_its_caller_waits() {
    let mut it = connect(Side::Plugin);
    let envelope = nri_proto::wire::envelope::Request {
        timeout_nano: 1_500,
        ..Default::default()
    };
    it.peer
        .send(&nri_proto::wire::Message::request(1, &envelope))
        .await;
    let request = it.incoming.next().await.unwrap();
    assert_eq!(request.timeout, Some(Duration::from_nanos(1_500)));
}

#[tokio::test]
async fn a_slow_handler_holds_up_no_other_request() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Slow", b"").await;
    let slow = it.incoming.next().await.unwrap();
    it.peer.ask(3, "Quick", b"").await;
    it.incoming
        .next()
        .await
        .unwrap()
        .reply(Ok(b"quick".to_vec()));
    assert_eq!(
        it.peer.next_answer().await,
        (3, Ok(Bytes::from_static(b"quick")))
    );
    slow.reply(Ok(b"slow".to_vec()));
    assert_eq!(
        it.peer.next_answer().await,
        (1, Ok(Bytes::from_static(b"slow")))
    );
}

#[tokio::test]
async fn ttrpc_174_requests_nobody_looks_at_hold_up_no_answer_to_a_call() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Configure", b"").await;
    let call = tokio::spawn(async move { it.caller.call("s", "Register", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    it.peer.answer(&response(stream, b"welcome")).await;
    assert_eq!(call.await.unwrap(), Ok(Bytes::from_static(b"welcome")));
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented_without_harm() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Nonsense", b"").await;
    it.incoming.next().await.unwrap().reply_unimplemented();
    let (stream, answer) = it.peer.next_answer().await;
    let status = answer.unwrap_err();
    assert_eq!((stream, status.code), (1, Code::UNIMPLEMENTED));
    assert_eq!(
        status.message,
        r#"no method "Nonsense" in service "test.Service""#
    );
    it.peer.ask(3, "Sense", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Sense");
}

#[tokio::test]
async fn a_request_dropped_in_a_panic_is_answered() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Method", b"").await;
    drop(it.incoming.next().await.unwrap());
    let (stream, answer) = it.peer.next_answer().await;
    assert_eq!((stream, answer.unwrap_err().code), (1, Code::INTERNAL));
}

#[tokio::test]
async fn a_stream_in_use_is_refused_until_it_is_answered() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "First", b"").await;
    let first = it.incoming.next().await.unwrap();
    it.peer.ask(1, "Second", b"").await;
    let (stream, answer) = it.peer.next_answer().await;
    let status = answer.unwrap_err();
    assert_eq!((stream, status.code), (1, Code::INVALID_ARGUMENT));
    assert_eq!(status.message, "stream id 1 is in use");

    first.reply(Ok(vec![]));
    assert_eq!(it.peer.next_answer().await, (1, Ok(Bytes::new())));
    it.peer.ask(1, "Third", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Third");
}

#[tokio::test]
async fn an_even_stream_is_refused() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(2, "Method", b"").await;
    let (stream, answer) = it.peer.next_answer().await;
    assert_eq!(
        (stream, answer.unwrap_err().code),
        (2, Code::INVALID_ARGUMENT)
    );
}

#[tokio::test]
async fn an_undecodable_request_is_refused_without_harm() {
    let mut it = connect(Side::Plugin);
    let mut garbage = request(1, "Method", b"");
    garbage.body = Bytes::from_static(&[0xff; 16]);
    it.peer.send(&garbage).await;
    let (stream, answer) = it.peer.next_answer().await;
    assert_eq!(
        (stream, answer.unwrap_err().code),
        (1, Code::INVALID_ARGUMENT)
    );
    it.peer.ask(1, "Method", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Method");
}

#[tokio::test]
async fn a_request_over_the_limit_is_refused_without_harm() {
    let mut it = connect(Side::Plugin);
    let length = u32::try_from(MAX_BODY + 1).unwrap();
    let mut message = BytesMut::new();
    message.put_slice(
        &MessageHeader {
            length,
            stream: 1,
            kind: REQUEST,
            flags: 0,
        }
        .encode(),
    );
    message.resize(MessageHeader::LEN + MAX_BODY + 1, 0);
    let mut frames = BytesMut::new();
    Split::every(1 << 20).put(&mut frames, PLUGIN_CONNECTION, &message);
    it.peer.send_raw(&frames).await;
    let (stream, answer) = it.peer.next_answer().await;
    assert_eq!(
        (stream, answer.unwrap_err().code),
        (1, Code::RESOURCE_EXHAUSTED)
    );
    it.peer.ask(3, "Method", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Method");
}

#[tokio::test]
async fn an_answer_over_the_limit_becomes_an_error() {
    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Method", b"").await;
    it.incoming
        .next()
        .await
        .unwrap()
        .reply(Ok(vec![0; MAX_BODY]));
    let (stream, answer) = it.peer.next_answer().await;
    assert_eq!(
        (stream, answer.unwrap_err().code),
        (1, Code::RESOURCE_EXHAUSTED)
    );
}

#[tokio::test]
async fn the_longest_answer_is_sent_and_one_byte_more_becomes_an_error() {
    let mut it = connect(Side::Plugin);
    // In front of the payload stand its tag and, in four bytes, its length.
    let longest = MAX_BODY - 5;
    for (stream, length, sent) in [(1, longest, true), (3, longest + 1, false)] {
        it.peer.ask(stream, "Method", b"").await;
        let request = it.incoming.next().await.unwrap();
        request.reply(Ok(vec![0; length]));
        let (_, answer) = it.peer.next_answer().await;
        assert_eq!(answer.is_ok(), sent);
    }
}

#[tokio::test]
async fn what_is_no_request_and_other_connections_are_ignored() {
    let mut it = connect(Side::Plugin);
    for kind in [0, 2, 3, 255] {
        let mut other = request(1, "Method", b"");
        other.kind = kind;
        it.peer.send(&other).await;
    }
    for connection in [0, 3, u32::MAX] {
        let mut frame = BytesMut::new();
        put_frame(&mut frame, connection, &[0xff; 100]);
        it.peer.send_raw(&frame).await;
    }
    // A request where the peer serves is none.
    it.peer
        .send_raw(&request(1, "Method", b"").frames(RUNTIME_CONNECTION, Split::CONTAINERD))
        .await;
    it.peer.ask(1, "Real", b"").await;
    assert_eq!(it.incoming.next().await.unwrap().method, "Real");
}

#[tokio::test]
async fn an_answer_is_cut_as_containerd_takes_it() {
    use tokio::io::AsyncReadExt;

    let mut it = connect(Side::Plugin);
    it.peer.ask(1, "Method", b"").await;
    it.incoming.next().await.unwrap().reply(Ok(vec![7; 5000]));
    let mut lengths = Vec::new();
    for _ in 0..2 {
        let mut header = [0; 8];
        it.peer.socket.read_exact(&mut header).await.unwrap();
        let length = nri_proto::wire::FrameHeader::decode(header).length as usize;
        it.peer
            .socket
            .read_exact(&mut vec![0; length])
            .await
            .unwrap();
        lengths.push(length);
    }
    // The envelope adds a tag and a length to the payload.
    assert_eq!(lengths, [4096, MessageHeader::LEN + 5000 + 3 - 4096]);
}

#[tokio::test]
async fn a_peer_may_leave_1024_requests_unanswered_and_no_more() {
    let mut it = connect(Side::Plugin);
    for number in 0..1024 {
        it.peer.ask(2 * number + 1, "Method", b"").await;
    }
    let call = tokio::spawn(async move { it.caller.call("s", "m", vec![]).await });
    let (stream, _) = it.peer.next_request().await;
    it.peer.answer(&response(stream, b"still here")).await;
    assert!(call.await.unwrap().is_ok());

    it.peer.ask(2049, "Method", b"").await;
    assert!(matches!(it.driver.await.unwrap(), Closed::Flooded));
}

#[tokio::test]
async fn a_peer_that_reads_no_answers_is_cut_off_before_they_pile_up() {
    let mut it = connect_over(Side::Plugin, 1 << 10);
    let asking = tokio::spawn(async move {
        let mut asked = 0_u32;
        loop {
            let frames = request(1, "Method", b"").frames(PLUGIN_CONNECTION, Split::CONTAINERD);
            if tokio::io::AsyncWriteExt::write_all(&mut it.peer.socket, &frames)
                .await
                .is_err()
            {
                return asked;
            }
            asked += 1;
        }
    });
    let closed = it.driver.await.unwrap();
    assert_eq!(
        closed.to_string(),
        "the peer left too many requests unanswered"
    );
    assert!(asking.await.unwrap() >= 1024);
    assert_eq!(it.incoming.next().await.unwrap().method, "Method");
}
