//! From the bytes of a CreateContainer request to those of its answer, whatever happens in between: a request
//! that cannot be decoded, a panic and a file system that hangs each leave the container as it is.

mod asking;
mod decided;
mod looking;
mod pending;
mod report;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nri_stub::Reply;

use crate::config::Config;
use crate::convert::{self, Asked};
use crate::decide::{self, Outcome, Pod, Runtime, Selection, Staged};
use crate::gate::Gate;
use crate::health::Health;
use crate::metrics::Metrics;
use crate::panics;
use decided::{Decided, Failure};
use looking::{Looking, Places, Stopped};
use pending::{Pending, State};

pub use asking::Asking;

/// Nothing is decided: the request waits, or has been answered by now.
struct Undecided(Stopped);

/// What answers CreateContainer.
#[derive(Debug)]
pub struct Answerer<S> {
    config: Arc<Config>,
    staged: Arc<S>,
    gate: Option<Arc<Gate>>,
    health: Arc<Health>,
    metrics: Metrics,
    places: Arc<Places>,
}

impl<S: Staged + Send + Sync + 'static> Answerer<S> {
    /// Decides by `config` and what is `staged`, behind `gate` where there is one.
    pub fn new(
        config: Arc<Config>,
        staged: S,
        gate: Option<Arc<Gate>>,
        health: Arc<Health>,
        metrics: Metrics,
    ) -> Self {
        let (staged, places) = (Arc::new(staged), Arc::<Places>::default());
        health.reads_again_by({
            let (config, staged, places) = (config.clone(), staged.clone(), places.clone());
            move || can_be_read(&config, &*staged, &places)
        });
        Self {
            config,
            staged,
            gate,
            health,
            metrics,
            places,
        }
    }

    /// By what containers are decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The answer to the request that is asked. An error where the container must not be created yet.
    pub fn create_container(&self, asking: &impl Asking, runtime: Runtime) -> Reply {
        panics::caught(|| self.answer(asking, runtime)).unwrap_or_else(|panic| {
            // It came before or after what is known of the container.
            self.settle(asking, &Asked::default(), Err(Failure::Panicked(panic)))
        })
    }

    fn answer(&self, asking: &impl Asking, runtime: Runtime) -> Reply {
        let _ticket = self.health.begin();
        let asked = match convert::asked(&self.config, asking.payload()) {
            Ok(asked) => Arc::new(asked),
            Err(error) => return self.settle(asking, &Asked::default(), Err(error.into())),
        };
        let (pod, container) = (asked.pod.as_ref(), asked.container.as_ref());
        let selection = match panics::caught(|| decide::select(&self.config, pod, container)) {
            Ok(selection) => selection,
            Err(panic) => return self.settle(asking, &asked, Err(Failure::Panicked(panic))),
        };
        if let Selection::LeaveAlone { .. } = selection {
            let staged = &*self.staged;
            let decision = decide::adjust(&self.config, &selection, container, staged, runtime);
            let decided = Decided {
                selection,
                decision,
                closed: None,
            };
            return self.settle(asking, &asked, Ok(decided));
        }
        match self.decide(asking, &asked, selection, runtime) {
            Ok(decided) => self.settle(asking, &asked, decided.and_then(fitting)),
            Err(Undecided(Stopped::InTheWay)) => Reply::Wait,
            Err(Undecided(Stopped::Late)) => Reply::Answer(Ok(convert::answer(None))),
        }
    }

    /// Decides by the gate and the disk, either of which may hang: the request is answered without this then.
    fn decide(
        &self,
        asking: &impl Asking,
        asked: &Arc<Asked>,
        selection: Selection,
        runtime: Runtime,
    ) -> Result<Result<Decided, Failure>, Undecided> {
        let came = asking.came();
        let deadline = asking.deadline();
        let left = || {
            deadline.map_or(Duration::MAX, |it| {
                it.saturating_duration_since(Instant::now())
            })
        };
        let budget = deadline.map_or(Duration::MAX, |deadline| deadline - came);
        let state = match &self.gate {
            Some(gate) => State::Entering(Arc::clone(gate)),
            None => State::Reading(budget, None),
        };
        let pending = Arc::new(Pending {
            asked: Arc::clone(asked),
            selection,
            came,
            metrics: self.metrics.clone(),
            health: Arc::clone(&self.health),
            state: Mutex::new(state),
        });
        let late = Arc::clone(&pending);
        asking.when_late(move || late.answer_late());
        if !asking.may_block() {
            return Err(Undecided(Stopped::InTheWay));
        }
        if let Some(gate) = &self.gate {
            let lock = self.places.look_at(gate.lock_path().as_str());
            let _looked = lock.ok_or(Undecided(Stopped::InTheWay))?;
            // An eighth less than there is: the gate itself says best what it waited for.
            match gate.enter(left() / 8 * 7) {
                Ok(held) => pending.reads(Some(held), left()),
                Err(closed) => return Ok(Ok(pending.closed(&closed))),
            }
        }
        let looking = Looking::new(&*self.staged, &self.places, || asking.is_open());
        let (selection, container) = (&pending.selection, asked.container.as_ref());
        let decision = panics::caught(|| {
            decide::adjust(&self.config, selection, container, &looking, runtime)
        });
        if let Some(stopped) = looking.stopped() {
            pending.lets_go();
            return Err(Undecided(stopped));
        }
        self.health.disk_answers();
        let decided = decision.map(|decision| Decided {
            selection: selection.clone(),
            decision,
            closed: None,
        });
        Ok(decided.map_err(Failure::Panicked))
    }

    /// Tells of the decision and gives it as the answer, if it came in time.
    fn settle(
        &self,
        asking: &impl Asking,
        asked: &Asked,
        decided: Result<Decided, Failure>,
    ) -> Reply {
        if !asking.claim() {
            return Reply::Answer(Ok(convert::answer(None)));
        }
        let took = asking.came().elapsed();
        Reply::Answer(report::settled(&self.metrics, asked, decided, took))
    }
}

/// Whether all that a container can be given can be looked at.
fn can_be_read(config: &Config, staged: &impl Staged, places: &Places) -> bool {
    let annotations = [
        &config.device_annotation,
        &config.infiniband_annotation,
        &config.imex_channel_annotation,
    ];
    let pod = Pod {
        annotations: annotations
            .map(|annotation| (annotation.clone(), "true".to_owned()))
            .into(),
        ..Pod::default()
    };
    let looking = Looking::new(staged, places, || true);
    let selection = decide::select(config, Some(&pod), None);
    let runtime = Runtime::UNKNOWN;
    decide::adjust(config, &selection, None, &looking, runtime);
    looking.stopped().is_none()
}

/// The decision, if its answer can be sent. Otherwise an error would be sent in its place, over which the runtime
/// refuses the container.
fn fitting(decided: Decided) -> Result<Decided, Failure> {
    match &decided.decision.outcome {
        Outcome::Adjusted(adjustment) if !convert::fits(adjustment) => Err(Failure::TooLarge),
        _ => Ok(decided),
    }
}
