//! A socket that has a plugin see its connection as a wrong plugin would.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use nri_proto::wire::{FrameHeader, MessageHeader, PLUGIN_CONNECTION, RUNTIME_CONNECTION, Split};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::UnixStream;

use super::wrong_plugin::Wrong;

/// Ends the process over what it does not understand.
pub(crate) struct WrongSocket {
    socket: UnixStream,
    wrong: Wrong,
    /// What has come of a frame's header.
    header: Vec<u8>,
    /// How many of the frame's bytes are still to come.
    frame: usize,
    frames: usize,
}

impl WrongSocket {
    pub(crate) fn new(socket: UnixStream, wrong: Wrong) -> Self {
        Self {
            socket,
            wrong,
            header: Vec::new(),
            frame: 0,
            frames: 0,
        }
    }

    fn look_at(&mut self, mut bytes: &[u8]) {
        while let Some((byte, rest)) = bytes.split_first() {
            if self.frame > 0 {
                let now = self.frame.min(bytes.len());
                self.frame -= now;
                bytes = &bytes[now..];
                continue;
            }
            bytes = rest;
            self.header.push(*byte);
            if let Ok(header) = self.header.as_slice().try_into() {
                self.header.clear();
                self.begin(FrameHeader::decode(header));
            }
        }
    }

    fn begin(&mut self, FrameHeader { connection, length }: FrameHeader) {
        self.frame = length as usize;
        self.frames += 1;
        let is_known = [PLUGIN_CONNECTION, RUNTIME_CONNECTION].contains(&connection);
        // The first frame begins a message for certain.
        let is_cut = self.frames == 1 && self.frame < MessageHeader::LEN;
        match self.wrong {
            Wrong::KnownConnections if !is_known => std::process::exit(5),
            // What the runtime cuts, it cuts there.
            Wrong::OneFrame if self.frame == Split::CONTAINERD.first => std::process::exit(7),
            Wrong::WholeHeaders if is_cut => std::process::exit(6),
            _ => {}
        }
    }
}

impl AsyncRead for WrongSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        // A peer that is gone takes nothing any more, one that only stopped sending does.
        let is_half = read.is_empty() && self.socket.try_write(&[]).is_ok();
        if is_half && self.wrong == Wrong::IgnoresHalfClose {
            return Poll::Pending;
        }
        self.look_at(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for WrongSocket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
