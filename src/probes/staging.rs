//! What `/readyz` asks of the staging gate, shared by all who ask. A check holds the lock that the node agent needs
//! for itself: one after the other, as many clients would have it, and the agent would never get it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::timeout;

use crate::gate::{Closed, Gate};

/// For how long one check's answer serves, counted from its end, and the lock is left alone.
const FRESH: Duration = Duration::from_millis(100);

/// For how long a check is waited for: less than the second that the kubelet gives a probe, and more than the gate
/// gives the node agent.
const PATIENCE: Duration = Duration::from_millis(700);

/// The gate, one check at a time.
#[derive(Debug)]
pub struct SharedGate {
    gate: Arc<Gate>,
    checks: Mutex<Checks>,
}

#[derive(Debug, Default)]
struct Checks {
    last: Option<(Instant, Result<(), Closed>)>,
    /// One that was not done in time; on a hung mount it never is, and no other is begun.
    under_way: Option<JoinHandle<Result<(), Closed>>>,
}

impl SharedGate {
    /// Asks `gate` on behalf of all who ask this.
    pub fn new(gate: Arc<Gate>) -> Self {
        Self {
            gate,
            checks: Mutex::default(),
        }
    }

    /// Whether the gate is open, as of now or a moment ago.
    pub(super) async fn check(&self) -> Result<(), Closed> {
        let mut checks = self.checks.lock().await;
        if let Some((ended, answer)) = &checks.last
            && ended.elapsed() < FRESH
        {
            return answer.clone();
        }
        let check = checks.under_way.get_or_insert_with(|| {
            let gate = Arc::clone(&self.gate);
            spawn_blocking(move || gate.enter(PATIENCE).map(drop))
        });
        let answer = match timeout(PATIENCE, check).await {
            Ok(ended) => {
                checks.under_way = None;
                ended.unwrap_or_else(|_| Err(self.gate.hung()))
            }
            Err(_) => Err(self.gate.hung()),
        };
        checks.last = Some((Instant::now(), answer.clone()));
        answer
    }
}
