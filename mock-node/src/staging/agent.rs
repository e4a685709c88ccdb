//! The node agent's endpoint: `GET /stagedz`, answered as the test says.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the node agent answers, as the vectors spell it.
#[derive(Clone, Debug, Deserialize)]
pub struct StagedAnswer {
    /// The HTTP status; 200 says that the tree is staged.
    pub status: u16,
    /// How long the answer takes, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// What comes with it.
    #[serde(default)]
    pub body: String,
}

impl StagedAnswer {
    /// An answer with this status, at once and without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self {
            status,
            delay_ms: 0,
            body: String::new(),
        }
    }
}

/// A node agent on a free port of the loopback interface. Dropping it closes the port.
#[derive(Debug)]
pub struct NodeAgent {
    address: SocketAddr,
    answer: Arc<Mutex<StagedAnswer>>,
    serving: JoinHandle<()>,
}

impl NodeAgent {
    /// Starts an agent that answers `GET /stagedz` with `answer` and anything else with 404.
    ///
    /// # Errors
    ///
    /// No port of the loopback interface is to be had.
    pub async fn start(answer: StagedAnswer) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let answer = Arc::new(Mutex::new(answer));
        let serving = tokio::spawn(serve(listener, answer.clone()));
        Ok(Self {
            address,
            answer,
            serving,
        })
    }

    /// `http://127.0.0.1:<port>`, without a path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Answers differently from the next request on.
    pub fn answer_with(&self, answer: StagedAnswer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }
}

impl Drop for NodeAgent {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, answer: Arc<Mutex<StagedAnswer>>) {
    // Connections are tasks of this one, so that aborting it ends them too.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve_connection(stream, answer.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, answer: Arc<Mutex<StagedAnswer>>) {
    let service = service_fn(move |request| {
        let answer = answer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        respond(request, answer)
    });
    // A client that goes away before its answer is its own affair.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

async fn respond(
    request: Request<Incoming>,
    answer: StagedAnswer,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = if request.method() != Method::GET || request.uri().path() != "/stagedz" {
        (StatusCode::NOT_FOUND, String::new())
    } else {
        // Even the shortest sleep is one of a millisecond.
        if answer.delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        }
        let status =
            StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, answer.body)
    };
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = status;
    Ok(response)
}
