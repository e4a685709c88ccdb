//! What each path answers.

use std::sync::Arc;
use std::time::Instant;

use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::json;

use super::SharedGate;
use crate::health::{Health, Unhealthy};
use crate::metrics::{self, Metrics};

/// What the probes look at.
#[derive(Debug)]
pub struct Probed {
    /// The session's state.
    pub health: Arc<Health>,
    /// The same gate that containers meet, where one is set up.
    pub gate: Option<SharedGate>,
    /// What `/metrics` tells.
    pub metrics: Metrics,
}

impl Probed {
    /// The response to `method` on `path`.
    pub(super) async fn answer(&self, method: &Method, path: &str) -> Response<String> {
        if !matches!(path, "/readyz" | "/healthz" | "/metrics") {
            return respond(StatusCode::NOT_FOUND, JSON, failure("not found"));
        }
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = respond(
                StatusCode::METHOD_NOT_ALLOWED,
                JSON,
                failure("method not allowed"),
            );
            response
                .headers_mut()
                .insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        match path {
            "/readyz" => probe(self.ready().await),
            "/healthz" => probe(self.health.check_wedged(Instant::now())),
            _ => respond(StatusCode::OK, metrics::CONTENT_TYPE, self.metrics.text()),
        }
    }

    async fn ready(&self) -> Result<(), Unhealthy> {
        self.health.check_registered()?;
        self.health.check_configured()?;
        self.health.check_wedged(Instant::now())?;
        self.health.check_disk(Instant::now())?;
        if let Some(gate) = &self.gate {
            gate.check().await?;
        }
        Ok(())
    }
}

const JSON: &str = "application/json";

fn probe(result: Result<(), Unhealthy>) -> Response<String> {
    match result {
        Ok(()) => respond(StatusCode::OK, JSON, r#"{"ok":true}"#.into()),
        Err(unhealthy) => respond(
            StatusCode::SERVICE_UNAVAILABLE,
            JSON,
            failure(&unhealthy.to_string()),
        ),
    }
}

fn failure(reason: &str) -> String {
    json!({ "ok": false, "reason": reason }).to_string()
}

fn respond(status: StatusCode, content_type: &'static str, body: String) -> Response<String> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
