//! Checks of what a plugin does when its connection ends, or should.

use super::answers::not_subscribed;
use super::session::{NoAnswer, Reaction, Session, Subject, ended};
use super::{Judged, Outcome, failed, passed, skipped};
use crate::runtime::{Cut, Fault};

/// A closed connection ends the plugin, or has it connect anew.
pub(super) async fn notices_the_close(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let reaction = after(&mut session, Fault::Cut(Cut::BeforeFrame)).await?;
    judged(reaction, "the runtime closed the connection")
}

/// So does one on which the runtime will send no more.
pub(super) async fn notices_the_half_close(subject: &Subject) -> Judged {
    closes_at_all(subject).await?;
    let mut session = subject.start().await?;
    let reaction = after(&mut session, Fault::HalfClose).await?;
    judged(reaction, "the runtime closed its half of the connection")
}

/// A plugin that outlives its connection comes back to a restarted runtime as the plugin that it was.
pub(super) async fn comes_back(subject: &Subject) -> Judged {
    let mut session = subject.start_answering().await?;
    let before = session
        .runtime
        .plugin_registered()
        .await
        .map_err(|_| gone())?;
    let plugin = match after(&mut session, Fault::Restart).await? {
        Reaction::CameBack(plugin) => plugin,
        Reaction::Ended(_) => {
            return skipped(
                "it ends with its connection: whoever started it has to start it again",
            );
        }
        Reaction::Nothing => return skipped("it did not notice that its connection was closed"),
    };
    if plugin != before {
        return failed(format!(
            "came back as {plugin} with events {:#x}, and was {before} with {:#x}",
            plugin.events, before.events
        ));
    }
    answers_again(&mut session, subject).await?;
    passed(format!(
        "came back as {plugin}, and answered about a container"
    ))
}

/// Bytes that mean nothing, of which each seed sends others, crash nothing.
pub(super) async fn survives_garbage(subject: &Subject) -> Judged {
    const SEEDS: u64 = 5;
    closes_at_all(subject).await?;
    drop(subject.start_answering().await?);
    for seed in 0..SEEDS {
        let mut session = subject.start_with(subject.builder().seed(seed)).await?;
        match after(&mut session, Fault::Garbage).await? {
            Reaction::Ended(exit) if exit.is_crash() => {
                return failed(format!("sent garbage: {}", ended(Ok(exit))));
            }
            Reaction::Ended(_) => {}
            Reaction::CameBack(_) => answers_again(&mut session, subject).await?,
            Reaction::Nothing => {
                return failed("sent garbage and closed on, it neither ended nor connected again");
            }
        }
    }
    passed(format!("came through garbage, {SEEDS} times"))
}

/// A frame that is longer than any message can be ends the connection, and crashes nothing.
pub(super) async fn closes_on_an_oversized_frame(subject: &Subject) -> Judged {
    closes_at_all(subject).await?;
    let mut session = subject.start().await?;
    match after(&mut session, Fault::OversizedFrame).await? {
        Reaction::Nothing => skipped("it waits for the whole frame, however long that is"),
        reaction => judged(reaction, "a frame over 4 MiB was announced"),
    }
}

async fn after(session: &mut Session, fault: Fault) -> Result<Reaction, Outcome> {
    let registrations = session.runtime.registration_count();
    fault.happen(&session.runtime).await.map_err(|_| gone())?;
    Ok(session.reaction(registrations).await)
}

fn judged(reaction: Reaction, what: &str) -> Judged {
    match reaction {
        Reaction::CameBack(plugin) => passed(format!("{plugin} connected again")),
        Reaction::Ended(exit) if exit.is_crash() => failed(format!("{what}: {}", ended(Ok(exit)))),
        Reaction::Ended(exit) => passed(ended(Ok(exit))),
        Reaction::Nothing => failed(format!("{what}, and it neither ended nor connected again")),
    }
}

/// For checks that have nothing to judge where a plugin does not even notice an ordinary close.
async fn closes_at_all(subject: &Subject) -> Result<(), Outcome> {
    let mut session = subject.start().await?;
    match after(&mut session, Fault::Cut(Cut::BeforeFrame)).await? {
        Reaction::Nothing => Err(Outcome::Skipped(
            "it does not notice that its connection is closed".to_owned(),
        )),
        Reaction::CameBack(_) | Reaction::Ended(_) => Ok(()),
    }
}

async fn answers_again(session: &mut Session, subject: &Subject) -> Result<(), Outcome> {
    let plain = subject.plain()?;
    match session.ask(plain).await {
        Err(NoAnswer::Closed(why)) => Err(Outcome::Failed(format!("came back, and then {why}"))),
        Err(other) => Err(other.skipped()),
        Ok(None) => Err(not_subscribed()),
        Ok(Some(_)) => Ok(()),
    }
}

fn gone() -> Outcome {
    Outcome::Skipped("it was gone before anything was done to it".to_owned())
}
