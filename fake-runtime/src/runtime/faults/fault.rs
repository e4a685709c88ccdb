//! Faults as data: what a scenario file says.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Cut;
use crate::runtime::{Call, FakeRuntime, Pace, SocketError, WaitTimeout};

/// One fault. Each is a method of [`FakeRuntime`] too, which says more.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// [`FakeRuntime::delay`]
    Delay {
        /// What comes later.
        call: Call,
        /// How much later, in milliseconds.
        ms: u64,
    },
    /// [`FakeRuntime::never_answer_registration`]
    NeverAnswerRegistration,
    /// [`FakeRuntime::never_configure`]
    NeverConfigure,
    /// [`FakeRuntime::configure_first`]
    ConfigureFirst,
    /// [`FakeRuntime::split_at_every_byte`]
    SplitAtEveryByte,
    /// [`FakeRuntime::split_at_random`]
    SplitAtRandom,
    /// [`FakeRuntime::read_slowly`]
    ReadSlowly {
        /// How many bytes at a time.
        bytes: usize,
        /// The pause after them, in milliseconds.
        ms: u64,
    },
    /// [`FakeRuntime::cut`]
    Cut(Cut),
    /// [`FakeRuntime::half_close`]
    HalfClose,
    /// [`FakeRuntime::restart`]
    Restart,
    /// [`FakeRuntime::stop`]: the socket's file stays, with nobody behind it.
    Stop,
    /// [`FakeRuntime::unknown_connection`]
    UnknownConnection,
    /// [`FakeRuntime::unknown_type`]
    UnknownType,
    /// [`FakeRuntime::unknown_method`]
    UnknownMethod,
    /// [`FakeRuntime::unknown_stream`]
    UnknownStream,
    /// [`FakeRuntime::reused_stream`]
    ReusedStream,
    /// [`FakeRuntime::oversized_frame`]
    OversizedFrame,
    /// [`FakeRuntime::garbage`]
    Garbage,
}

impl fmt::Display for Fault {
    /// As a scenario writes it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        out.write_str(
            &written
                .replace(['"', '{', '}'], "")
                .replace([':', ','], " "),
        )
    }
}

/// A fault cannot be brought about.
#[derive(Debug, thiserror::Error)]
pub enum FaultError {
    /// There is no plugin to whom it could happen.
    #[error(transparent)]
    NoPlugin(#[from] WaitTimeout),
    /// The runtime cannot come back.
    #[error(transparent)]
    Restart(#[from] SocketError),
}

impl Fault {
    /// Brings the fault about.
    ///
    /// # Errors
    ///
    /// There is no plugin to whom it could happen, or the runtime cannot listen again.
    pub async fn happen(&self, runtime: &FakeRuntime) -> Result<(), FaultError> {
        let milliseconds = |ms: &u64| Duration::from_millis(*ms);
        match self {
            Self::Delay { call, ms } => runtime.delay(*call, milliseconds(ms)),
            Self::NeverAnswerRegistration => runtime.never_answer_registration(),
            Self::NeverConfigure => runtime.never_configure(),
            Self::ConfigureFirst => runtime.configure_first(),
            Self::SplitAtEveryByte => runtime.split_at_every_byte(),
            Self::SplitAtRandom => runtime.split_at_random(),
            Self::ReadSlowly { bytes, ms } => {
                runtime.read_slowly(Pace {
                    bytes: *bytes,
                    pause: milliseconds(ms),
                });
            }
            Self::Cut(cut) => runtime.cut(*cut).await?,
            Self::HalfClose => runtime.half_close().await?,
            Self::Restart => runtime.restart().await?,
            Self::Stop => runtime.stop().await,
            Self::UnknownConnection => runtime.unknown_connection().await?,
            Self::UnknownType => runtime.unknown_type().await?,
            Self::UnknownMethod => drop(runtime.unknown_method().await?),
            Self::UnknownStream => runtime.unknown_stream().await?,
            Self::ReusedStream => runtime.reused_stream().await?,
            Self::OversizedFrame => runtime.oversized_frame().await?,
            Self::Garbage => runtime.garbage().await?,
        }
        Ok(())
    }

    /// Whether it costs the plugin its connection.
    #[must_use]
    pub fn closes_connection(&self) -> bool {
        matches!(
            self,
            Self::Cut(_)
                | Self::HalfClose
                | Self::Restart
                | Self::Stop
                | Self::OversizedFrame
                | Self::Garbage
        )
    }
}
