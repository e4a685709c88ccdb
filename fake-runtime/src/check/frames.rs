//! Checks of how a plugin reads and writes frames.

use nri_proto::wire::{MAX_BODY, MessageHeader, Split};
use prost::Message as _;

use super::answers::not_subscribed;
use super::samples;
use super::session::{NoAnswer, Session, Subject, start};
use super::{Judged, Outcome, failed, passed, skipped};
use crate::create::Answer;
use crate::runtime::WaitTimeout;

/// What an envelope has around its payload, at most.
const ENVELOPE: usize = 128;

/// Requests around the length of one frame, and as long as a message can be.
pub(super) async fn takes_long_requests(subject: &Subject) -> Judged {
    let mut session = subject.start_answering().await?;
    let plain = subject.plain()?;
    let around_a_frame = Split::CONTAINERD.first - 2 * ENVELOPE..=Split::CONTAINERD.first;
    for length in around_a_frame.chain([64 << 10, 1 << 20, MAX_BODY - ENVELOPE]) {
        match session.ask(samples::padded(&plain, length)).await {
            Err(NoAnswer::Closed(why)) => {
                return failed(format!("asked with a request of {length} bytes: {why}"));
            }
            Err(NoAnswer::Late) if length > Split::CONTAINERD.first => {
                return failed(format!("no answer to a request of {length} bytes in time"));
            }
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(_)) => {}
        }
    }
    passed(format!(
        "answered requests of up to {} bytes",
        MAX_BODY - ENVELOPE
    ))
}

/// Answers that take more than one frame come in frames that containerd takes.
pub(super) async fn cuts_long_answers(subject: &Subject) -> Judged {
    let mut session = subject.start().await?;
    let mut longest = 0;
    for request in subject.requests()? {
        match session.ask(samples::with_long_paths(&request)).await {
            Err(NoAnswer::LongFrame(why)) => return failed(why),
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(asked)) => {
                if let Answer::Adjust(adjustment) = asked.answer {
                    longest = longest.max(adjustment.encoded_len());
                }
            }
        }
    }
    match longest > Split::CONTAINERD.first - MessageHeader::LEN {
        true => passed(format!(
            "an answer of {longest} bytes came in frames that are short enough"
        )),
        false => skipped(format!(
            "no answer was longer than one frame, the longest had {longest} bytes"
        )),
    }
}

/// An inventory and requests of just over one frame, which containerd cuts in two, are understood.
pub(super) async fn takes_split_frames(subject: &Subject) -> Judged {
    drop(subject.start().await?);
    let (pods, containers) = samples::inventory(subject.plain()?, samples::FEW_PODS);
    let builder = subject.builder().inventory(pods, containers);
    let mut session = subject.start_on(start(builder).await?)?;
    if let Err(why) = session.registered().await {
        return failed(format!("given an inventory in two frames: {why}"));
    }
    let plain = subject.plain()?;
    // Whoever has no answer to an ordinary request, has none to a longer one.
    if session
        .ask(plain.clone())
        .await
        .map_err(NoAnswer::skipped)?
        .is_none()
    {
        return passed("understood an inventory in two frames");
    }
    for length in [4096, 5000, 16 << 10] {
        match session.ask(samples::padded(&plain, length)).await {
            Err(NoAnswer::Closed(why)) => {
                return failed(format!(
                    "asked with {length} bytes, which come in two frames: {why}"
                ));
            }
            Err(NoAnswer::Late) => {
                return failed(format!(
                    "no answer to {length} bytes, which come in two frames"
                ));
            }
            Err(other) => return Err(other.skipped()),
            Ok(None) => return Err(not_subscribed()),
            Ok(Some(_)) => {}
        }
    }
    passed("understood an inventory and requests in two frames")
}

/// What comes in frames of one byte, and of any length, is understood. The Go stub does not: its queue takes 256
/// frames.
pub(super) async fn takes_tiny_frames(subject: &Subject) -> Judged {
    drop(subject.start_answering().await?);
    let plain = subject.plain()?;
    for how in ["at every byte", "at random"] {
        let runtime = start(subject.builder()).await?;
        match how {
            "at random" => runtime.split_at_random(),
            _ => runtime.split_at_every_byte(),
        }
        let mut session = subject.start_on(runtime)?;
        if let Err(why) = session.registered().await {
            return failed(format!("with frames split {how}: {why}"));
        }
        match session.ask(plain.clone()).await {
            Err(NoAnswer::Closed(why)) => return failed(format!("with frames split {how}: {why}")),
            Err(other) => return Err(other.skipped()),
            Ok(_) => {}
        }
    }
    passed("understood frames split at every byte, and at random")
}

/// A method that the plugin does not have is refused, with the code for that, and without harm.
pub(super) async fn refuses_unknown_methods(subject: &Subject) -> Judged {
    let mut session = subject.start_answering().await?;
    let answer = session.runtime.unknown_method().await.map_err(gone)?;
    match answer {
        Answer::Error { code, .. } if code == "Unimplemented" => {}
        Answer::Error { code, message } => {
            return failed(format!(
                "answered {code} where Unimplemented is right: {message}"
            ));
        }
        Answer::Adjust(_) => return failed("answered a method that there is not"),
        Answer::Lost(why) => {
            return failed(match session.exit_soon().await {
                Some(exit) => exit,
                None => format!("gave no answer: {why}"),
            });
        }
    }
    match still_there(&mut session, subject).await? {
        Ok(()) => passed("answered Unimplemented, and the next request"),
        Err(why) => failed(format!("answered Unimplemented, and then {why}")),
    }
}

/// Frames and messages that mean nothing to the plugin are passed over.
pub(super) async fn ignores_unknown_frames(subject: &Subject) -> Judged {
    let mut session = subject.start_answering().await?;
    for what in ["logical connection", "message type", "stream"] {
        match what {
            "logical connection" => session.runtime.unknown_connection().await.map_err(gone)?,
            "message type" => session.runtime.unknown_type().await.map_err(gone)?,
            _ => session.runtime.unknown_stream().await.map_err(gone)?,
        }
        if let Err(why) = still_there(&mut session, subject).await? {
            return failed(format!("sent an unknown {what}: {why}"));
        }
    }
    passed("an unknown logical connection, message type and stream were passed over")
}

/// Whether a container is answered about on the same connection.
async fn still_there(
    session: &mut Session,
    subject: &Subject,
) -> Result<Result<(), String>, Outcome> {
    let plain = subject.plain()?;
    match session.ask(plain).await {
        Err(NoAnswer::Closed(why)) => Ok(Err(why)),
        Err(other) => Err(other.skipped()),
        Ok(None) if session.runtime.plugins().is_empty() => Ok(Err("it was gone".to_owned())),
        Ok(_) => Ok(Ok(())),
    }
}

fn gone(_: WaitTimeout) -> Outcome {
    Outcome::Skipped("it was gone before anything was done to it".to_owned())
}
