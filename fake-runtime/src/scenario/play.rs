//! Playing a scenario.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use super::file::{Action, Scenario, ScenarioError, Step};
use crate::create::{container_id, name_of};
use crate::host::Host;
use crate::launch::Launch;
use crate::life;
use crate::pod::Simulation;
use crate::product::Product;
use crate::replay::{Container, Played, PluginSource, Replay};
use crate::runtime::{FakeRuntime, Fault};
use crate::tree::make_tree;

/// Stands for the directory of what is staged.
const DIR: &str = "{dir}";

/// Longer than a plugin waits for a runtime that keeps silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the node has for a plugin that names CDI devices: what is typed, or else what the plugin is told of.
fn host(simulation: &Simulation, source: &PluginSource, product: &Product) -> Host {
    simulation.node.cdi.clone().unwrap_or_else(|| {
        let told = match (source, product.cdi_dirs) {
            (PluginSource::Start(plugins), Some(dirs)) => {
                let args = plugins.iter().map(Launch::arguments);
                args.flat_map(dirs).collect()
            }
            _ => Vec::new(),
        };
        Host::with_cdi_dirs_besides(told)
    })
}

/// How far a scenario has come.
#[derive(Default)]
struct Course {
    played: Vec<Played>,
    /// What runs, by the names that are printed.
    running: HashMap<String, Running>,
}

/// What runs, by its id.
#[derive(Clone)]
enum Running {
    Pod(String),
    Container(String),
}

impl Scenario {
    /// Plays the scenario to a plugin. What is left open by Pods is for `simulation` to say. `waiting` is called when
    /// the runtime waits for a plugin. In what comes of it, `{dir}` stands for the directory
    /// of what was staged: see [`Plain`].
    ///
    /// # Errors
    ///
    /// The scenario cannot be staged, started, or gone on with.
    pub async fn play(
        &self,
        source: &PluginSource,
        product: &Product,
        simulation: &Simulation,
        waiting: impl FnOnce(),
    ) -> Result<(Vec<Played>, Plain), ScenarioError> {
        let staged = tempfile::Builder::new().prefix("scenario-").tempdir()?;
        let dir = staged.path();
        let overlay_args = self.stage(dir, product)?;
        let simulation = self.simulation(simulation)?;
        let source = self.source(source, dir, overlay_args);
        let host = host(&simulation, &source, product);
        let builder = self.builder(&simulation)?.host(host);
        let mut replay = Replay::start(builder, &source, product).await?;
        for fault in &self.faults {
            happen(fault, replay.runtime()).await?;
        }
        waiting();
        replay.registered().await?;
        let plain = Plain(dir.to_string_lossy().into_owned());
        let mut course = Course::default();
        for step in &self.steps {
            let step = self.step(step, &mut replay, &simulation, &plain, &mut course);
            // It holds the futures of all that a step may be, which is much for a stack.
            Box::pin(step).await?;
        }
        Ok((course.played, plain))
    }

    /// Stages all of it, and returns the arguments that the overlay takes.
    fn stage(&self, dir: &Path, product: &Product) -> Result<Vec<String>, ScenarioError> {
        let args = match (&self.overlay, product.stage) {
            (None, _) => Vec::new(),
            (Some(_), None) => return Err(ScenarioError::NoOverlay),
            (Some(overlay), Some(stage)) => stage(overlay, dir).map_err(ScenarioError::Overlay)?,
        };
        make_tree(dir, &self.tree)?;
        Ok(args)
    }

    fn builder(&self, simulation: &Simulation) -> Result<crate::runtime::Builder, ScenarioError> {
        let mut pods = Vec::new();
        let mut containers = Vec::new();
        for source in &self.inventory {
            for request in self.requests(source, simulation)? {
                pods.extend(request.pod);
                containers.extend(request.container);
            }
        }
        // Each container came with its pod.
        pods.dedup_by(|one, other| one.id == other.id);
        let builder = FakeRuntime::builder()
            .profile(simulation.profile)
            .seed(self.seed)
            .patience(PATIENCE)
            .inventory(pods, containers);
        Ok(match self.request_timeout_ms {
            Some(ms) => builder.request_timeout(Duration::from_millis(ms)),
            None => builder,
        })
    }

    /// The plugin with the scenario's arguments before its own, and told of what is staged.
    fn source(&self, source: &PluginSource, dir: &Path, overlay_args: Vec<String>) -> PluginSource {
        let PluginSource::Start(plugins) = source else {
            return source.clone();
        };
        let told = plugins
            .iter()
            .map(|plugin| self.told(plugin, dir, &overlay_args));
        PluginSource::Start(told.collect())
    }

    fn told(&self, plugin: &Launch, dir: &Path, overlay_args: &[String]) -> Launch {
        let own = self.args.iter().map(OsString::from);
        let all: Vec<OsString> = own.chain(plugin.arguments().iter().cloned()).collect();
        let mut filled: Vec<OsString> = all
            .iter()
            .map(|arg| match arg.to_str() {
                Some(text) => text.replace(DIR, &dir.to_string_lossy()).into(),
                None => arg.clone(),
            })
            .collect();
        if filled == all {
            filled.extend(overlay_args.iter().map(OsString::from));
        }
        plugin.with_args(filled)
    }

    async fn step(
        &self,
        step: &Step,
        replay: &mut Replay,
        simulation: &Simulation,
        plain: &Plain,
        course: &mut Course,
    ) -> Result<(), ScenarioError> {
        let Course { played, running } = course;
        let named = |name: &String| {
            let named = running.get(name).cloned();
            named.ok_or_else(|| ScenarioError::NotRun(name.clone()))
        };
        let judged = |container: Container| {
            let unmet = step.expect.unmet(&container, |line| plain.line(line));
            Played::Container {
                container: Box::new(container),
                unmet,
            }
        };
        match &step.action {
            Action::Create(source) => {
                for request in self.requests(source, simulation)? {
                    played.push(judged(replay.create(request).await));
                }
            }
            Action::CreateAtOnce([one, other]) => {
                let first = |source| {
                    self.requests(source, simulation)
                        .map(|mut requests| requests.swap_remove(0))
                };
                let created = replay
                    .create_two_at_once([first(one)?, first(other)?])
                    .await;
                played.extend(created.map(judged));
            }
            Action::Run(source) => {
                for request in self.requests(source, simulation)? {
                    let (name, id) = (name_of(&request), container_id(&request));
                    let pod = request.pod.clone().unwrap_or_default();
                    let pod_name = format!("{}/{}", pod.namespace, pod.name);
                    let is_new = Running::Pod(pod.id.clone());
                    if running.insert(pod_name, is_new).is_none() {
                        played.push(replay.turn(life::Step::RunPod(Box::new(pod))).await?);
                    }
                    let container = replay.create(request).await;
                    let is_created = container.created.is_ok();
                    played.push(judged(container));
                    if is_created {
                        running.insert(name, Running::Container(id.clone()));
                        played.push(replay.turn(life::Step::Start(id)).await?);
                    }
                }
            }
            Action::Update(update) => {
                let Running::Container(container) = named(&update.container)? else {
                    return Err(ScenarioError::NotAContainer(update.container.clone()));
                };
                let resources = update.resources.clone();
                let update = life::Step::Update {
                    container,
                    resources,
                };
                played.push(replay.turn(update).await?);
            }
            Action::Stop(name) => {
                let stop = match named(name)? {
                    Running::Pod(id) => life::Step::StopPod(id),
                    Running::Container(id) => life::Step::Exit(id),
                };
                played.push(replay.turn(stop).await?);
            }
            Action::Remove(name) => {
                let remove = match named(name)? {
                    Running::Pod(id) => life::Step::RemovePod(id),
                    Running::Container(id) => life::Step::Remove(id),
                };
                played.push(replay.turn(remove).await?);
            }
            Action::Fault(fault) => {
                let registrations = replay.runtime().registration_count();
                let start = Instant::now();
                happen(fault, replay.runtime()).await?;
                let mut came_back = None;
                if fault.closes_connection() && *fault != Fault::Stop {
                    let again = replay.runtime().registrations(registrations + 1).await;
                    again.map_err(crate::replay::ReplayError::NotRegistered)?;
                    came_back = Some(start.elapsed());
                }
                played.push(Played::Fault {
                    fault: fault.clone(),
                    came_back,
                });
            }
        }
        Ok(())
    }
}

async fn happen(fault: &Fault, runtime: &FakeRuntime) -> Result<(), ScenarioError> {
    fault
        .happen(runtime)
        .await
        .map_err(|source| ScenarioError::Fault {
            fault: fault.clone(),
            source,
        })
}

/// Takes out of lines what differs from run to run: where the scenario was staged.
#[derive(Clone, Debug)]
pub struct Plain(String);

impl Plain {
    /// The line with `{dir}` in place of the directory.
    #[must_use]
    pub fn line(&self, line: &str) -> String {
        line.replace(&self.0, DIR)
    }
}
