//! The probes and metrics over HTTP, on a thread and a runtime of their own: a file system call that
//! hangs under the NRI session must not silence the probe that is there to tell of it.
//!
//! - `GET /readyz`: 200 while new containers are injected, else 503 and why not.
//! - `GET /healthz`: 200, or 503 once a request is wedged.
//! - `GET /metrics`: Prometheus text.

mod answer;
mod listen;
mod staging;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use std::{io, thread};

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::{AbortHandle, yield_now};
use tokio::time::{sleep, timeout};

pub use answer::Probed;
pub use listen::listen;
pub use staging::SharedGate;

/// From the first byte of a connection to its last. The kubelet gives a probe 1 s by default.
const CONNECTION_LIMIT: Duration = Duration::from_secs(5);

/// One more connection costs the oldest its place, so that clients that only sit there keep nobody out.
const MAX_CONNECTIONS: usize = 64;

/// Between two tries to accept a connection. Out of descriptors, say, the next try fails as well.
const RETRY: Duration = Duration::from_millis(100);

/// Between two warnings of such tries.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// A probe's request is a few lines.
const MAX_REQUEST_BYTES: usize = 8 * 1024;

/// Serves the probes on `listener` for as long as the process lives. Returns the address.
///
/// # Errors
///
/// When the thread or its runtime cannot be set up.
pub fn serve(listener: TcpListener, probed: Probed) -> io::Result<SocketAddr> {
    let address = listener.local_addr()?;
    listener.set_nonblocking(true)?;
    let (failed, failure) = mpsc::channel();
    thread::Builder::new()
        .name("probes".into())
        .spawn(move || {
            // Set up here and not by the caller, who may be on a runtime: none can be dropped on another, as this
            // one would be where there is no thread for it.
            match set_up(listener) {
                Ok((runtime, listener)) => {
                    drop(failed);
                    runtime.block_on(accept(listener, Arc::new(probed)));
                }
                // The caller waits for it.
                Err(error) => drop(failed.send(error)),
            }
        })?;
    failure.recv().map_or(Ok(address), Err)
}

fn set_up(listener: TcpListener) -> io::Result<(Runtime, tokio::net::TcpListener)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    Ok((runtime, listener))
}

async fn accept(listener: tokio::net::TcpListener, probed: Arc<Probed>) {
    let mut connections = VecDeque::<AbortHandle>::new();
    let mut warned = None::<Instant>;
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                if warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
                    tracing::warn!(%error, "cannot accept a probe's connection, trying on");
                    warned = Some(Instant::now());
                }
                sleep(RETRY).await;
                continue;
            }
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() == MAX_CONNECTIONS
            && let Some(oldest) = connections.pop_front()
        {
            oldest.abort();
        }
        let connection = tokio::spawn(connection(stream, Arc::clone(&probed)));
        connections.push_back(connection.abort_handle());
        // What came all at once is not put out unread: each gets its turn before the next takes a place.
        yield_now().await;
    }
}

/// Answers one request. What goes wrong on the way is the client's affair.
async fn connection(stream: TcpStream, probed: Arc<Probed>) {
    let service = service_fn(|request| {
        let probed = Arc::clone(&probed);
        async move { Ok::<_, Infallible>(probed.answer(request.method(), request.uri().path()).await) }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(false)
        .max_buf_size(MAX_REQUEST_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(CONNECTION_LIMIT, serving).await;
}
