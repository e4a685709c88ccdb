//! What the log and the metrics are told of a container.

use std::borrow::Cow;
use std::time::Duration;

use nri_stub::{Answer, Code, Status};

use super::decided::{Decided, Failure};
use crate::convert::{self, Asked};
use crate::decide::{Adjustment, Outcome, Reason, Selection, Warning};
use crate::metrics::Metrics;

/// Tells of what came about, and gives the answer.
pub(super) fn settled(
    metrics: &Metrics,
    asked: &Asked,
    settled: Result<Decided, Failure>,
    took: Duration,
) -> Answer {
    match settled {
        Ok(it) => {
            decided(metrics, asked, &it, took);
            match it.decision.outcome {
                Outcome::Adjusted(adjustment) => Ok(convert::answer(Some(adjustment))),
                Outcome::Refused(refusal) => Err(Status::new(Code::UNKNOWN, refusal.to_string())),
                Outcome::Unmodified(_) | Outcome::Gated { .. } => Ok(convert::answer(None)),
            }
        }
        Err(failure) => {
            failed(metrics, asked, &failure, took);
            Ok(convert::answer(None))
        }
    }
}

/// A decision came about.
fn decided(metrics: &Metrics, asked: &Asked, decided: &Decided, took: Duration) {
    let subject = Subject::from(asked);
    let Decided {
        selection,
        decision,
        closed,
    } = decided;
    for warning in &decision.warnings {
        subject.warn(warning);
        if let Warning::DevicesSkipped { reason, devices } = warning {
            metrics.devices_skipped(reason.as_str(), devices.len());
        }
    }
    let none = Adjustment::default();
    let (reason, kind, adjustment): (Cow<'_, str>, Cow<'static, str>, _) = match &decision.outcome {
        Outcome::Adjusted(adjustment) => {
            let selected = match selection {
                Selection::Inject(surfaces) => {
                    surfaces
                        .names()
                        .for_each(|surface| metrics.surface(surface));
                    surfaces.to_string()
                }
                Selection::Daemon | Selection::LeaveAlone { .. } => "compute domain daemon".into(),
            };
            (selected.clone().into(), selected.into(), adjustment)
        }
        Outcome::Unmodified(reason @ Reason::OverlayNotStaged) => {
            let what = "overlay is required, container left unmodified";
            subject.warn_because(what, reason.as_str());
            (reason.as_str().into(), reason.as_str().into(), &none)
        }
        Outcome::Unmodified(reason) => (reason.as_str().into(), reason.as_str().into(), &none),
        Outcome::Gated { reason } => {
            subject.warn_because("staging gate closed, container left unmodified", reason);
            (reason.into(), closed.unwrap_or_default().into(), &none)
        }
        Outcome::Refused(refusal) => {
            let reason = refusal.to_string();
            subject.warn_because("container refused, the kubelet will try again", &reason);
            (reason.into(), refusal.name().into(), &none)
        }
    };
    subject.debug(decision.outcome.name(), &reason, adjustment);
    metrics.container(decision.outcome.name(), kind, took);
}

/// No decision came about, and the container is left as it is.
fn failed(metrics: &Metrics, asked: &Asked, failure: &Failure, took: Duration) {
    let subject = Subject::from(asked);
    let reason = failure.to_string();
    subject.warn_because("no decision, container left unmodified", &reason);
    subject.debug("failed", &reason, &Adjustment::default());
    metrics.container("failed", failure.kind().into(), took);
}

/// By what a container is named in the log. What is absent is empty.
#[derive(Clone, Copy)]
struct Subject<'a> {
    namespace: &'a str,
    pod: &'a str,
    container: &'a str,
}

impl<'a> From<&'a Asked> for Subject<'a> {
    fn from(asked: &'a Asked) -> Self {
        let pod = asked.pod.as_ref();
        Self {
            namespace: pod.map_or("", |pod| &pod.namespace),
            pod: pod.map_or("", |pod| &pod.name),
            container: asked
                .container
                .as_ref()
                .map_or("", |container| &container.name),
        }
    }
}

impl Subject<'_> {
    fn warn(self, warning: &Warning) {
        let Self {
            namespace,
            pod,
            container,
        } = self;
        tracing::warn!(
            namespace,
            pod,
            container,
            path = warning.path(),
            cause = warning.cause(),
            names = warning.names(),
            "{}",
            warning.message(),
        );
    }

    fn warn_because(self, what: &str, reason: &str) {
        let Self {
            namespace,
            pod,
            container,
        } = self;
        tracing::warn!(namespace, pod, container, reason, "{what}");
    }

    fn debug(self, decision: &str, reason: &str, adjustment: &Adjustment) {
        let Self {
            namespace,
            pod,
            container,
        } = self;
        tracing::debug!(
            namespace,
            pod,
            container,
            decision,
            reason,
            mounts = adjustment.mounts.len(),
            env = adjustment.env.len(),
            devices = adjustment.devices.len(),
            cdi_devices = adjustment.cdi_devices.len(),
            "container decided",
        );
    }
}
