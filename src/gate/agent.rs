//! The question to the node agent: one GET on a connection of its own.

use std::convert::Infallible;
use std::error::Error;
use std::future::pending;
use std::time::Duration;

use hyper::client::conn::http1;
use hyper::header::{CONNECTION, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{self, AsyncReadExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Closed;
use crate::config::AgentUrl;

/// From the look-up of the host's name to the answer's status.
const ANSWER_LIMIT: Duration = Duration::from_millis(500);

/// A status and a few headers; only the status is looked at.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// How far an answer is read. One that keeps coming, as interim responses can without end, would be read and read
/// before the time is looked at again, and nothing else would be done on this thread meanwhile.
const MAX_ANSWER_BYTES: u64 = 64 * 1024;

/// Asks the node agent whether its tree is staged, for `patience` at most. Redirects are answers like any other.
pub(super) async fn staged(url: &AgentUrl, patience: Duration) -> Result<(), Closed> {
    let limit = ANSWER_LIMIT.min(patience);
    match timeout(limit, get(url)).await {
        Ok(Ok(StatusCode::OK)) => Ok(()),
        Ok(Ok(_)) => Err(Closed::NotStaged),
        Ok(Err(error)) => Err(Closed::Unreachable(with_causes(&*error))),
        Err(_) => Err(Closed::Unreachable(format!(
            "no answer within {}ms",
            limit.as_millis()
        ))),
    }
}

async fn get(url: &AgentUrl) -> Result<StatusCode, Box<dyn Error + Send + Sync>> {
    let AgentUrl { host, port, path } = url;
    let stream = TcpStream::connect((host.as_str(), *port)).await?;
    let (read, write) = stream.into_split();
    let bounded = io::join(read.take(MAX_ANSWER_BYTES), write);
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(MAX_HEAD_BYTES)
        .handshake(TokioIo::new(bounded))
        .await?;
    let authority = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let request = Request::get(path)
        .header(HOST, authority)
        .header(CONNECTION, "close")
        .body(String::new())?;
    // The connection's own failure reaches the request too, so only that one is looked at.
    let driven = async {
        let _ = connection.await;
        pending::<Infallible>().await
    };
    tokio::select! {
        response = sender.send_request(request) => Ok(response?.status()),
        never = driven => match never {},
    }
}

/// hyper's errors leave what the system said to their sources.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
