//! The bytes of messages that no well-behaved runtime sends, or not so.

use bytes::{BufMut as _, Bytes, BytesMut};
use nri_proto::api::{Container, CreateContainerRequest, PodSandbox, plugin};
use nri_proto::wire::{
    FrameHeader, MAX_FRAME, Message, PLUGIN_CONNECTION, Split, envelope, put_frame,
};
use prost::Message as _;

/// The stream id of a connection's first call: that of Configure.
pub(super) const FIRST_STREAM: u32 = 1;

/// A CreateContainer request about a container that will not exist.
pub(super) fn request(stream: u32) -> Bytes {
    let named = |name: &str| name.to_owned();
    let request = CreateContainerRequest {
        pod: Some(PodSandbox {
            name: named("never"),
            namespace: named("default"),
            ..Default::default()
        }),
        container: Some(Container {
            name: named("never"),
            ..Default::default()
        }),
    };
    let envelope = envelope::Request {
        service: plugin::SERVICE.to_owned(),
        method: plugin::CREATE_CONTAINER.to_owned(),
        payload: request.encode_to_vec().into(),
        ..Default::default()
    };
    Message::request(stream, &envelope).frames(PLUGIN_CONNECTION, Split::CONTAINERD)
}

/// A message with an empty body.
pub(super) fn message(connection: u32, stream: u32, kind: u8) -> Bytes {
    Message {
        stream,
        kind,
        flags: 0,
        body: Bytes::new(),
    }
    .frames(connection, Split::CONTAINERD)
}

/// A frame.
pub(super) fn frame(connection: u32, content: &[u8]) -> Bytes {
    let mut out = BytesMut::new();
    put_frame(&mut out, connection, content);
    out.freeze()
}

/// The header of a frame that is one byte too long.
pub(super) fn oversized() -> Bytes {
    let length = u32::try_from(MAX_FRAME + 1).expect("the limit is 4 MiB and a little");
    let mut out = BytesMut::new();
    out.put_slice(
        &FrameHeader {
            connection: PLUGIN_CONNECTION,
            length,
        }
        .encode(),
    );
    out.freeze()
}

/// So many bytes.
pub(super) fn garbage(length: usize, mut any: impl FnMut() -> u8) -> Bytes {
    (0..length).map(|_| any()).collect()
}
