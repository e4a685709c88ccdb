//! Checks of what a plugin answers about containers.

use std::time::Duration;

use nri_proto::api::{ContainerAdjustment, CreateContainerRequest};

use super::samples;
use super::session::{NoAnswer, Session, Subject};
use super::{Judged, Outcome, failed, passed};
use crate::collect::Collector;
use crate::create::{Answer, CreateError, Reason, container_id, name_of};
use crate::runtime::{Asked, Received};

impl Subject {
    pub(super) fn requests(&self) -> Result<Vec<CreateContainerRequest>, Outcome> {
        let requests = self.samples.requests(self.profile);
        requests.map_err(|error| Outcome::Skipped(error.to_string()))
    }

    /// The most ordinary container of all.
    pub(super) fn plain(&self) -> Result<CreateContainerRequest, Outcome> {
        Ok(self.requests()?.swap_remove(0))
    }
}

impl Session {
    /// Asks about a container, for a check to which a missing answer says nothing.
    pub(super) async fn answer(
        &mut self,
        request: CreateContainerRequest,
    ) -> Result<Asked, Outcome> {
        self.ask(request)
            .await
            .map_err(NoAnswer::skipped)?
            .ok_or_else(not_subscribed)
    }
}

pub(super) fn not_subscribed() -> Outcome {
    Outcome::Skipped("it does not subscribe to CreateContainer".to_owned())
}

/// The plugin answers about containers, each without an error, and lives on.
pub(super) async fn answers(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let requests = subject.requests()?;
    let asked_about = requests.len();
    for request in requests {
        let name = name_of(&request);
        match session.ask(request).await {
            Err(NoAnswer::Closed(why)) => return failed(format!("asked about {name}: {why}")),
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(Asked {
                answer: Answer::Error { message, .. },
                ..
            })) => {
                return failed(format!("refuses {name}: {message}"));
            }
            Ok(Some(_)) => {}
        }
    }
    passed(format!("answered about {asked_about} containers"))
}

/// No answer takes longer than the runtime waits.
pub(super) async fn keeps_the_deadline(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let mut slowest = Duration::ZERO;
    for request in subject.requests()? {
        let name = name_of(&request);
        match session.ask(request).await {
            Err(NoAnswer::Late) => {
                return failed(format!(
                    "no answer about {name} in time: the connection is closed, and the container made without it"
                ));
            }
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(asked)) => slowest = slowest.max(asked.latency),
        }
    }
    passed(format!(
        "the slowest answer took {:.1} ms",
        slowest.as_secs_f64() * 1000.0
    ))
}

/// Every answer is to something that was asked, once.
pub(super) async fn keeps_to_its_streams(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    for request in subject.requests()? {
        match session.ask(request).await {
            Err(NoAnswer::Elsewhere(_)) => break,
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(_)) => {}
        }
    }
    let stray = session
        .runtime
        .received()
        .into_iter()
        .find_map(|received| match received {
            Received::StrayAnswer { stream, .. } => Some(stream),
            _ => None,
        });
    match stray {
        Some(stream) => failed(format!(
            "answered stream {stream}, on which nothing was asked"
        )),
        None => passed("each answer had the stream id of its request"),
    }
}

/// The plugin takes requests in which something is missing. It may refuse them.
pub(super) async fn takes_sparse_requests(subject: &Subject) -> Judged {
    let mut session = subject.start_answering().await?;
    for (missing, request) in samples::sparse() {
        match session.ask(request).await {
            Err(NoAnswer::Closed(why)) => {
                return failed(format!("asked with {missing}: {why}"));
            }
            // It has answered about an ordinary container before.
            Err(NoAnswer::Late) => {
                return failed(format!("asked with {missing}: it gave no answer in time"));
            }
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(_)) => {}
        }
    }
    passed("answered requests without pod, container and everything in them")
}

/// No adjustment is in conflict with itself.
pub(super) async fn sets_nothing_twice(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    for request in subject.requests()? {
        let name = name_of(&request);
        let asked = session.answer(request).await?;
        if let Err(error) = merged(subject, &asked)
            && matches!(error.reason, Reason::Conflict { .. })
        {
            return failed(format!("{name} is refused: {error}"));
        }
    }
    passed("no mount, variable or device stands twice in an adjustment")
}

/// Asked about what it made of a container, the plugin has nothing to add.
pub(super) async fn adds_nothing_again(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let mut adjusted = 0;
    for request in subject.requests()? {
        let name = name_of(&request);
        let first = session.answer(request).await?;
        let Ok(request) = merged(subject, &first) else {
            continue;
        };
        adjusted += usize::from(!is_empty(&first));
        let second = session.answer(request).await?;
        if !is_empty(&second) {
            return failed(format!(
                "asked about {name} a second time, it {}",
                second.answer
            ));
        }
    }
    match adjusted {
        0 => Err(Outcome::Skipped(
            "it adjusted none of the containers".to_owned(),
        )),
        _ => passed(format!(
            "{adjusted} adjusted containers were left as they were"
        )),
    }
}

/// The request as a plugin gets it that is asked next.
fn merged(subject: &Subject, asked: &Asked) -> Result<CreateContainerRequest, CreateError> {
    let mut collector = Collector::new(subject.profile, asked.request.clone());
    let answered = collector.answer(&asked.plugin, &asked.answer);
    answered.map_err(|reason| reason.told(subject.profile, &container_id(&asked.request)))?;
    Ok(collector.request().clone())
}

fn is_empty(asked: &Asked) -> bool {
    match &asked.answer {
        Answer::Adjust(adjustment) => **adjustment == ContainerAdjustment::default(),
        Answer::Error { .. } | Answer::Lost(_) => true,
    }
}
