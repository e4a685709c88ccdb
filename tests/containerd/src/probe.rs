//! A question to the plugin's probes.

use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// What a probe answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Probe {
    /// # Panics
    ///
    /// When nothing answers at `address`.
    pub(crate) async fn get(address: &str, path: &str) -> Self {
        let stream = TcpStream::connect(address)
            .await
            .expect("the probes listen");
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("the probes speak HTTP");
        tokio::spawn(connection);
        let request = Request::get(path).header("host", address);
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let answer = sender.send_request(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.expect("a body");
        let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        Self { status, body }
    }
}
