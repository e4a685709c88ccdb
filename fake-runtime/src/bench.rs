//! How much a plugin costs: the time of each answer, the processor's time behind it, and memory.
//!
//! What is measured takes turns in the same run, so that noise is the same for all: a ratio to the [floor](serve_floor)
//! says the same on every machine, where microseconds do not. This end of the socket is blocking code, which adds as
//! little as can be to what it measures.

mod connection;
mod floor;
mod process;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nri_proto::api::{CreateContainerRequest, plugin};
use prost::Message as _;
use serde::Serialize;

use crate::process::SpawnError;
use crate::profile::Profile;
use connection::{Connection, Request};
use process::{Process, Usage};

pub use floor::{Floor, serve as serve_floor};

/// Requests that are not measured, before the first round.
const WARM_UP: u32 = 500;

/// How the requests are made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// In so many rounds, in each of which all take their turn.
    pub rounds: u32,
    /// So many in each turn.
    pub requests: u32,
    /// So long after the answer before.
    pub gap: Duration,
}

/// What can be asked: a plugin's process, or the floor's.
#[derive(Debug)]
pub struct Subject {
    process: Process,
    connection: Connection,
    /// From its start until it was registered.
    pub registered_after: Duration,
}

/// What a plugin costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// How many answers were measured.
    pub requests: usize,
    /// The time of an answer that half of them did not exceed, in microseconds.
    pub p50_us: f64,
    /// That nine in ten did not exceed.
    pub p90_us: f64,
    /// That 99 in 100 did not exceed.
    pub p99_us: f64,
    /// That 999 in 1000 did not exceed.
    pub p999_us: f64,
    /// The time of the slowest answer, in microseconds.
    pub max_us: f64,
    /// Answers a second, one after the other.
    pub per_second: f64,
    /// The processor's time for an answer, in microseconds.
    pub cpu_us: f64,
    /// Resident memory at the end, in KiB.
    pub rss_kib: u64,
    /// The most resident memory that the process ever had, in KiB.
    pub peak_rss_kib: u64,
    /// What half of the answers of each round did not exceed, in microseconds.
    pub rounds_us: Vec<f64>,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// There is no such binary, or it is none for this machine.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It ended before it was registered, or never was.
    #[error("{}: {reason}", path.display())]
    NotRegistered {
        /// Which.
        path: PathBuf,
        /// Its exit status and the last line of its stderr, or what it said in place of a registration.
        reason: String,
    },
    /// It gave no answer, or an error: its time would say nothing.
    #[error("{} gave no answer: {error}", path.display())]
    NoAnswer {
        /// Which.
        path: PathBuf,
        /// What came in its place.
        error: io::Error,
    },
    /// The system refuses what a measurement takes.
    #[error("cannot measure: {0}")]
    System(#[from] io::Error),
}

impl Subject {
    /// Starts the plugin at `path` and registers it as `profile` does. `{socket}` in `args` stands for the path of the
    /// NRI socket; where none has it, `--socket-path=` and the path are appended.
    ///
    /// # Errors
    ///
    /// It cannot be started, or does not register.
    pub fn plugin(path: &Path, args: &[OsString], profile: &Profile) -> Result<Self, BenchError> {
        let begun = Instant::now();
        let (mut process, stream) = Process::start(path, args)?;
        let registered = stream.and_then(|stream| {
            let mut connection = Connection::new(stream)?;
            connection.register(profile)?;
            Ok(connection)
        });
        let connection = registered.map_err(|error| BenchError::NotRegistered {
            path: path.to_owned(),
            reason: process.ended().unwrap_or_else(|| error.to_string()),
        })?;
        Ok(Self {
            process,
            connection,
            registered_after: begun.elapsed(),
        })
    }

    /// Starts the tool at `path`, which serves `floor` by its command of that name.
    ///
    /// # Errors
    ///
    /// It cannot be started, or does not register.
    pub fn floor(path: &Path, floor: &Floor, profile: &Profile) -> Result<Self, BenchError> {
        Self::plugin(path, &floor.args(), profile)
    }

    /// The length of the payload of its answer to `request`, in bytes.
    ///
    /// # Errors
    ///
    /// It gives none, or an error.
    pub fn answer_length(&mut self, request: &CreateContainerRequest) -> Result<usize, BenchError> {
        self.ask(&mut encoded(request))?;
        let answer = self.connection.answer();
        answer
            .map(|payload| payload.len())
            .map_err(|error| self.no_answer(error))
    }

    fn ask(&mut self, request: &mut Request) -> Result<Duration, BenchError> {
        let asked = self.connection.ask(request);
        asked.map_err(|error| self.no_answer(error))
    }

    fn no_answer(&mut self, error: io::Error) -> BenchError {
        let error = self.process.ended().map_or(error, io::Error::other);
        let path = self.process.path.clone();
        BenchError::NoAnswer { path, error }
    }

    fn turn(&mut self, request: &mut Request, plan: &Plan) -> Result<Vec<Duration>, BenchError> {
        let mut latencies = Vec::with_capacity(plan.requests as usize);
        for _ in 0..plan.requests {
            if !plan.gap.is_zero() {
                thread::sleep(plan.gap);
            }
            latencies.push(self.ask(request)?);
        }
        Ok(latencies)
    }

    /// Its resident memory, and the most that it ever had, in KiB.
    ///
    /// # Errors
    ///
    /// The kernel does not tell of the process.
    pub fn memory(&self) -> Result<(u64, u64), BenchError> {
        let usage = Usage::of(self.process.id())?;
        Ok((usage.rss_kib, usage.peak_rss_kib))
    }
}

/// Measures what `request` costs each of the subjects.
///
/// # Errors
///
/// One of them gave no answer, or an error.
pub fn measure(
    subjects: &mut [Subject],
    request: &CreateContainerRequest,
    plan: &Plan,
) -> Result<Vec<Cost>, BenchError> {
    let mut request = encoded(request);
    let warm_up = Plan {
        requests: WARM_UP.min(plan.requests),
        gap: Duration::ZERO,
        ..*plan
    };
    let mut before = Vec::new();
    for subject in &mut *subjects {
        subject.turn(&mut request, &warm_up)?;
        before.push(Usage::of(subject.process.id())?);
    }
    let mut rounds = vec![Vec::new(); subjects.len()];
    for _ in 0..plan.rounds {
        for (subject, rounds) in subjects.iter_mut().zip(&mut rounds) {
            rounds.push(subject.turn(&mut request, plan)?);
        }
    }
    let measured = subjects.iter().zip(before).zip(rounds);
    measured
        .map(|((subject, before), rounds)| {
            let after = Usage::of(subject.process.id())?;
            Ok(Cost::new(rounds, before, after))
        })
        .collect()
}

fn encoded(request: &CreateContainerRequest) -> Request {
    Request::new(plugin::CREATE_CONTAINER, &request.encode_to_vec())
}

impl Cost {
    fn new(rounds: Vec<Vec<Duration>>, before: Usage, after: Usage) -> Self {
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
        let mut rounds = rounds;
        for round in &mut rounds {
            round.sort_unstable();
        }
        let median = |round: &Vec<_>| percentile(round, 500).map_or(0.0, microseconds);
        let rounds_us = rounds.iter().map(median).collect();
        let mut latencies = rounds.concat();
        latencies.sort_unstable();
        // Of the answers alone: what is between them is not the plugin's.
        let took: Duration = latencies.iter().sum();
        let requests = u32::try_from(latencies.len()).unwrap_or(u32::MAX);
        let per_mille = |rank| percentile(&latencies, rank).map_or(0.0, microseconds);
        Self {
            requests: latencies.len(),
            p50_us: per_mille(500),
            p90_us: per_mille(900),
            p99_us: per_mille(990),
            p999_us: per_mille(999),
            max_us: per_mille(1000),
            per_second: f64::from(requests) / took.as_secs_f64(),
            cpu_us: microseconds(after.cpu.saturating_sub(before.cpu)) / f64::from(requests),
            rss_kib: after.rss_kib,
            peak_rss_kib: after.peak_rss_kib,
            rounds_us,
        }
    }

    /// The least of its rounds, in microseconds: noise only ever adds.
    #[must_use]
    pub fn least_us(&self) -> f64 {
        self.rounds_us.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// How many times as long as `other` this took in the quietest round of each.
    #[must_use]
    pub fn ratio_to(&self, other: &Self) -> f64 {
        self.least_us() / other.least_us()
    }
}

/// The value that so many in a thousand do not exceed, by nearest rank.
fn percentile(sorted: &[Duration], per_mille: usize) -> Option<Duration> {
    let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_that_so_many_do_not_exceed() {
        let sorted: Vec<_> = (1..=2000).map(Duration::from_micros).collect();
        for (per_mille, micros) in [(500, 1000), (990, 1980), (999, 1998), (1000, 2000), (0, 1)] {
            assert_eq!(
                percentile(&sorted, per_mille),
                Some(Duration::from_micros(micros))
            );
        }
        assert_eq!(percentile(&[], 500), None);
        assert_eq!(
            percentile(&sorted[..1], 999),
            Some(Duration::from_micros(1))
        );
    }

    #[test]
    fn noise_in_some_rounds_is_none_in_the_ratio() {
        let usage = Usage::of(std::process::id()).unwrap();
        let cost = |rounds: [u64; 3]| {
            let rounds = rounds.map(|micros| vec![Duration::from_micros(micros)]);
            Cost::new(rounds.to_vec(), usage, usage)
        };
        let ratio = cost([300, 20, 90]).ratio_to(&cost([10, 100, 11]));
        assert!((ratio - 2.0).abs() < 1e-9, "{ratio}");
    }
}
