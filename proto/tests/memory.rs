//! That a large message does not stay with the process. Alone in its file: it measures the process.

use bytes::Bytes;
use nri_proto::wire::{
    FrameHeader, MAX_BODY, MessageHeader, PLUGIN_CONNECTION, REQUEST, Side, envelope, open,
};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

const MIB: usize = 1 << 20;

/// The process's resident memory in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .expect("it tells this");
    let kib: usize = line.trim().trim_end_matches(" kB").parse().expect("in kB");
    kib << 10
}

/// Sends a request of just under 4 MiB in one frame, without ever holding it.
async fn send_large(socket: &mut DuplexStream, stream: u32) {
    const PAYLOAD: usize = MAX_BODY - 100;
    let envelope = envelope::Request {
        method: "Synchronize".to_owned(),
        ..Default::default()
    };
    let mut body = envelope.encode_to_vec();
    // The payload's tag and length; its bytes follow.
    body.push(0x1a);
    prost::encode_length_delimiter(PAYLOAD, &mut body).expect("a Vec grows");
    let length = u32::try_from(body.len() + PAYLOAD).expect("under 4 GiB");
    let frame = FrameHeader {
        connection: PLUGIN_CONNECTION,
        length: length + u32::try_from(MessageHeader::LEN).expect("ten"),
    };
    let header = MessageHeader {
        length,
        stream,
        kind: REQUEST,
        flags: 0,
    };
    socket.write_all(&frame.encode()).await.expect("open");
    socket.write_all(&header.encode()).await.expect("open");
    socket.write_all(&body).await.expect("open");
    let zeros = [0; 4096];
    let mut left = PAYLOAD;
    while left > 0 {
        let piece = left.min(zeros.len());
        socket.write_all(&zeros[..piece]).await.expect("open");
        left -= piece;
    }
}

#[tokio::test]
async fn a_synchronize_of_12_mb_gives_its_memory_back() {
    let (ours, mut theirs) = tokio::io::duplex(4096);
    let (_caller, mut incoming, driver) = open(ours, Side::Plugin);
    let driver = tokio::spawn(driver.run());
    let runtime = tokio::spawn(async move {
        for stream in [1, 3, 5, 7] {
            send_large(&mut theirs, stream).await;
            let mut answer = [0; 8 + 10 + 4];
            theirs.read_exact(&mut answer).await.expect("an answer");
        }
    });

    // The first one warms up what is used once and kept.
    incoming
        .next()
        .await
        .expect("a first part")
        .reply(Ok(b"ok".to_vec()));
    let before = resident();
    let mut held = Vec::<Bytes>::new();
    for _ in 0..3 {
        let request = incoming.next().await.expect("a part");
        held.push(request.payload.clone());
        request.reply(Ok(b"ok".to_vec()));
    }
    let with_all = resident();
    assert!(
        with_all > before + 11 * MIB,
        "the parts are there: {before} to {with_all}"
    );
    drop(held);
    let after = resident();
    assert!(
        after < before + MIB / 4,
        "from {before} to {after}, with the parts {with_all}"
    );

    runtime.await.expect("answered");
    assert_eq!(
        driver.await.expect("no panic").to_string(),
        "the peer closed the connection"
    );
}
