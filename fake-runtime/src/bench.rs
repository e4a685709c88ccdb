//! How much a plugin costs: the time of each answer, the processor's time behind it, and memory.
//!
//! Two plugins are measured in turns, in the same run, so that noise is the same for both: the difference
//! to a plugin that does nothing is what a plugin adds to the wire itself.

mod process;

use std::time::Duration;

use nri_proto::api::CreateContainerRequest;
use serde::Serialize;

use crate::create::Answer;
use crate::process::PluginProcess;
use crate::runtime::FakeRuntime;
use process::Usage;

/// In so many turns the requests are made.
const TURNS: usize = 10;
/// Requests of each plugin that are not measured, before the first turn.
const WARM_UP: usize = 100;

/// A plugin's process, registered on a runtime of its own.
#[derive(Debug)]
pub struct Candidate {
    /// The runtime.
    pub runtime: FakeRuntime,
    /// The process.
    pub process: PluginProcess,
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
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The plugin gave no answer, or an error: its time would say nothing.
    #[error("the plugin {0}: its time says nothing")]
    NoAnswer(String),
    /// No plugin was asked.
    #[error("no plugin subscribes to CreateContainer")]
    NobodyAsked,
    /// The kernel does not tell of the process.
    #[error("cannot read what the plugin's process uses: {0}")]
    Usage(#[from] std::io::Error),
    /// The process has ended.
    #[error("the plugin has ended")]
    Ended,
}

/// Measures every candidate with about `requests` requests each, in turns.
///
/// # Errors
///
/// One of them gave no answer, or has ended.
pub async fn measure(
    candidates: &[Candidate],
    request: &CreateContainerRequest,
    requests: usize,
) -> Result<Vec<Cost>, BenchError> {
    for candidate in candidates {
        candidate.ask(request, WARM_UP).await?;
    }
    let mut before = Vec::new();
    for candidate in candidates {
        before.push(candidate.usage()?);
    }
    let mut measured: Vec<(Vec<Duration>, Duration)> = vec![Default::default(); candidates.len()];
    for _ in 0..TURNS {
        for (candidate, (latencies, took)) in candidates.iter().zip(&mut measured) {
            let (more, longer) = candidate.ask(request, requests.div_ceil(TURNS)).await?;
            latencies.extend(more);
            *took += longer;
        }
    }
    let mut costs = Vec::new();
    for ((candidate, before), (latencies, took)) in candidates.iter().zip(before).zip(measured) {
        costs.push(Cost::new(latencies, took, before, candidate.usage()?));
    }
    Ok(costs)
}

impl Candidate {
    /// Asks so many times, and gives the time of each answer and of all together.
    async fn ask(
        &self,
        request: &CreateContainerRequest,
        times: usize,
    ) -> Result<(Vec<Duration>, Duration), BenchError> {
        let mut latencies = Vec::with_capacity(times);
        for _ in 0..times {
            let CreateContainerRequest { pod, container } = request.clone();
            let asked = match self.runtime.create_container(pod, container).await {
                Ok(created) => created.asked,
                Err(refused) => refused.asked,
            };
            let asked = asked.into_iter().next().ok_or(BenchError::NobodyAsked)?;
            match asked.answer {
                Answer::Adjust(_) => latencies.push(asked.latency),
                other => return Err(BenchError::NoAnswer(other.to_string())),
            }
        }
        // Of the answers alone: what the runtime makes of them is not the plugin's.
        let took = latencies.iter().sum();
        Ok((latencies, took))
    }

    fn usage(&self) -> Result<Usage, BenchError> {
        Ok(Usage::of(self.process.id().ok_or(BenchError::Ended)?)?)
    }
}

impl Cost {
    fn new(mut latencies: Vec<Duration>, took: Duration, before: Usage, after: Usage) -> Self {
        latencies.sort_unstable();
        let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
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
        }
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
}
