//! Does a plugin keep to what a runtime expects of it? One [`Check`] at a time, each with a process and a runtime of
//! its own, so that what breaks one says nothing of the others.
//!
//! The checks are of two [`Group`]s. Where a plugin fails one, others may have nothing left to judge: those are skipped,
//! and say why.

mod answers;
mod connection;
mod frames;
mod registration;
mod samples;
mod session;

use std::fmt;
use std::pin::Pin;

use serde::Serialize;

pub use samples::Samples;
pub use session::Subject;

/// One thing that a runtime expects of a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The plugin connects and says a valid name and index before anything else.
    Registration,
    /// It answers Configure also where that comes before the answer to its registration.
    ConfigureFirst,
    /// It implements every event that it subscribes to.
    Events,
    /// It takes an inventory in parts, from runtimes that split it.
    SplitSynchronize,
    /// It answers about containers, and lives on.
    Answers,
    /// It answers in time.
    Deadline,
    /// It answers what it was asked, and once.
    Streams,
    /// It never sets a thing twice.
    Duplicates,
    /// It takes requests of every length up to 4 MiB.
    LongRequests,
    /// It cuts long answers as containerd takes them.
    LongAnswers,
    /// It puts together what containerd sends in two frames.
    SplitFrames,
    /// It refuses methods that it does not know.
    UnknownMethods,
    /// It notices that the runtime closed the connection.
    Close,
    /// It comes back, as the same plugin, to a runtime that was restarted.
    Restart,
    /// It comes through requests in which parts are missing.
    SparseRequests,
    /// It adds nothing to a container that it has adjusted already, as a second copy of it would be asked to.
    Idempotence,
    /// It puts together what comes in frames of a few bytes.
    TinyFrames,
    /// It ignores frames and messages that it does not know.
    UnknownFrames,
    /// It notices that the runtime will send no more.
    HalfClose,
    /// It does not crash over bytes that mean nothing.
    Garbage,
    /// It closes a connection on which a frame is too long.
    OversizedFrame,
}

/// What a failed check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// containerd does just this: the plugin has a bug.
    Conformance,
    /// No containerd is known to do this: take it as advice.
    Robustness,
}

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", content = "seen", rename_all = "lowercase")]
pub enum Outcome {
    /// The plugin does what is expected; with what was seen.
    Passed(String),
    /// It does not; with what was seen.
    Failed(String),
    /// There was nothing to judge; with why.
    Skipped(String),
}

impl Check {
    /// Every check, in the order in which they are made: those of conformance first.
    pub const ALL: [Self; 21] = [
        Self::Registration,
        Self::ConfigureFirst,
        Self::Events,
        Self::SplitSynchronize,
        Self::Answers,
        Self::Deadline,
        Self::Streams,
        Self::Duplicates,
        Self::LongRequests,
        Self::LongAnswers,
        Self::SplitFrames,
        Self::UnknownMethods,
        Self::Close,
        Self::Restart,
        Self::SparseRequests,
        Self::Idempotence,
        Self::TinyFrames,
        Self::UnknownFrames,
        Self::HalfClose,
        Self::Garbage,
        Self::OversizedFrame,
    ];

    /// What it means that a plugin fails it.
    #[must_use]
    pub fn group(self) -> Group {
        match self {
            Self::SparseRequests
            | Self::Idempotence
            | Self::TinyFrames
            | Self::UnknownFrames
            | Self::HalfClose
            | Self::Garbage
            | Self::OversizedFrame => Group::Robustness,
            _ => Group::Conformance,
        }
    }

    /// By what it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::ConfigureFirst => "configure-first",
            Self::Events => "events",
            Self::SplitSynchronize => "split-synchronize",
            Self::Answers => "answers",
            Self::Deadline => "deadline",
            Self::Streams => "streams",
            Self::Duplicates => "duplicates",
            Self::LongRequests => "long-requests",
            Self::LongAnswers => "long-answers",
            Self::SplitFrames => "split-frames",
            Self::UnknownMethods => "unknown-methods",
            Self::Close => "close",
            Self::Restart => "restart",
            Self::SparseRequests => "sparse-requests",
            Self::Idempotence => "idempotence",
            Self::TinyFrames => "tiny-frames",
            Self::UnknownFrames => "unknown-frames",
            Self::HalfClose => "half-close",
            Self::Garbage => "garbage",
            Self::OversizedFrame => "oversized-frame",
        }
    }

    /// Makes the check.
    pub async fn run(self, subject: &Subject) -> Outcome {
        // Boxed: together they would not fit on the stack of a thread that a test has.
        let judged: Pin<Box<dyn Future<Output = Judged> + Send + '_>> = match self {
            Self::Registration => Box::pin(registration::registers(subject)),
            Self::ConfigureFirst => Box::pin(registration::takes_configure_first(subject)),
            Self::Events => Box::pin(registration::implements_its_events(subject)),
            Self::SplitSynchronize => Box::pin(registration::takes_parts(subject)),
            Self::Answers => Box::pin(answers::answers(subject)),
            Self::Deadline => Box::pin(answers::keeps_the_deadline(subject)),
            Self::Streams => Box::pin(answers::keeps_to_its_streams(subject)),
            Self::Duplicates => Box::pin(answers::sets_nothing_twice(subject)),
            Self::LongRequests => Box::pin(frames::takes_long_requests(subject)),
            Self::LongAnswers => Box::pin(frames::cuts_long_answers(subject)),
            Self::SplitFrames => Box::pin(frames::takes_split_frames(subject)),
            Self::UnknownMethods => Box::pin(frames::refuses_unknown_methods(subject)),
            Self::Close => Box::pin(connection::notices_the_close(subject)),
            Self::Restart => Box::pin(connection::comes_back(subject)),
            Self::SparseRequests => Box::pin(answers::takes_sparse_requests(subject)),
            Self::Idempotence => Box::pin(answers::adds_nothing_again(subject)),
            Self::TinyFrames => Box::pin(frames::takes_tiny_frames(subject)),
            Self::UnknownFrames => Box::pin(frames::ignores_unknown_frames(subject)),
            Self::HalfClose => Box::pin(connection::notices_the_half_close(subject)),
            Self::Garbage => Box::pin(connection::survives_garbage(subject)),
            Self::OversizedFrame => Box::pin(connection::closes_on_an_oversized_frame(subject)),
        };
        judged
            .await
            .unwrap_or_else(|nothing_to_judge| nothing_to_judge)
    }
}

impl Group {
    /// Both, in the order in which their checks are made.
    pub const ALL: [Self; 2] = [Self::Conformance, Self::Robustness];

    /// By what it is called on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Conformance => "conformance",
            Self::Robustness => "robustness",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}

/// What a check comes to: an outcome, or one for want of something to judge.
type Judged = Result<Outcome, Outcome>;

fn passed(seen: impl Into<String>) -> Judged {
    Ok(Outcome::Passed(seen.into()))
}

fn failed(seen: impl Into<String>) -> Judged {
    Ok(Outcome::Failed(seen.into()))
}

fn skipped(why: impl Into<String>) -> Judged {
    Ok(Outcome::Skipped(why.into()))
}
