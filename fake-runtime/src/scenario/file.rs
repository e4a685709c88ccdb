//! What stands in a scenario file.

use std::path::{Path, PathBuf};

use crate::one_line::on_one_line;
use nri_proto::api::{CreateContainerRequest, LinuxResources};
use serde::Deserialize;
use serde_json::Value;

use super::Expected;
use crate::jsonl;
use crate::pod::Simulation;
use crate::profile::{Profile, UnknownVersion};
use crate::replay::ReplayError;
use crate::requests::{self, RequestsError};
use crate::runtime::{Fault, FaultError, NotThere};
use crate::tree::{Entry, TreeError};

/// A scenario, as a file says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Scenario {
    #[serde(rename = "kind")]
    _kind: Kind,
    /// The runtime that asks: `cri-o-1.37`. A version alone is containerd's.
    #[serde(default, alias = "containerd")]
    pub runtime: Option<String>,
    /// What faults draw from.
    #[serde(default)]
    pub seed: u64,
    /// How long the plugin has for a request.
    #[serde(default)]
    pub request_timeout_ms: Option<u64>,
    /// What the tool that is made for the plugin stages for it.
    #[serde(default)]
    pub overlay: Option<Value>,
    /// What else there is.
    #[serde(default)]
    pub tree: Vec<Entry>,
    /// What runs before the plugin registers.
    #[serde(default)]
    pub inventory: Vec<Source>,
    /// The plugin's arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// What goes wrong with the first connection.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The directory of the file, from which it names others.
    #[serde(skip)]
    pub(super) dir: PathBuf,
}

/// By this a scenario is told from what else files hold.
#[derive(Clone, Copy, Debug, Deserialize)]
enum Kind {
    Scenario,
}

/// One thing that happens.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenStep")]
pub struct Step {
    /// What it is.
    pub action: Action,
    /// What should come of each container that it creates.
    pub expect: Expected,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Action {
    /// Containers are created, one after the other.
    Create(Source),
    /// Two containers are created at the same time: the first of each.
    CreateAtOnce([Source; 2]),
    /// Something goes wrong.
    Fault(Fault),
    /// Pods run, and their containers are created and started.
    Run(Source),
    /// The resources of a container of such a pod change.
    Update(Update),
    /// Such a pod, or a container of it, is stopped.
    Stop(String),
    /// It is removed.
    Remove(String),
}

/// A change of a container's resources.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Update {
    /// Its name as it is printed.
    pub container: String,
    /// To what, as in a recording's requests.
    pub resources: Box<LinuxResources>,
}

/// A step with all that it might be.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct WrittenStep {
    create: Option<Source>,
    create_at_once: Option<[Source; 2]>,
    fault: Option<Fault>,
    run: Option<Source>,
    update: Option<Update>,
    stop: Option<String>,
    remove: Option<String>,
    #[serde(default)]
    expect: Expected,
}

impl TryFrom<WrittenStep> for Step {
    type Error = &'static str;

    fn try_from(written: WrittenStep) -> Result<Self, Self::Error> {
        let actions = [
            written.create.map(Action::Create),
            written.create_at_once.map(Action::CreateAtOnce),
            written.fault.map(Action::Fault),
            written.run.map(Action::Run),
            written.update.map(Action::Update),
            written.stop.map(Action::Stop),
            written.remove.map(Action::Remove),
        ];
        let mut actions = actions.into_iter().flatten();
        let (Some(action), None) = (actions.next(), actions.next()) else {
            return Err(
                "a step is one of create, create-at-once, run, update, stop, remove and fault",
            );
        };
        Ok(Self {
            action,
            expect: written.expect,
        })
    }
}

/// Where requests come from.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Source {
    /// A file beside the scenario's.
    File(PathBuf),
    /// A Pod, or a request.
    Inline(Value),
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It is not what a scenario is.
    #[error("{path}: {}", on_one_line(why))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, in one line.
        why: String,
    },
    /// It names a version that there is no profile for.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// What it stages cannot be made.
    #[error(transparent)]
    Stage(#[from] TreeError),
    /// It has an overlay, and who plays it stages none.
    #[error(
        "nothing here stages an overlay: play it with the tool made for the plugin, as `mock-node replay`"
    )]
    NoOverlay,
    /// The overlay cannot be staged.
    #[error("cannot stage the overlay: {0}")]
    Overlay(Box<dyn std::error::Error + Send + Sync>),
    /// No directory can be made for what it stages.
    #[error("cannot make a directory for the staged tree: {0}")]
    Directory(#[from] std::io::Error),
    /// It asks for requests that there are none of.
    #[error(transparent)]
    Requests(#[from] RequestsError),
    /// The runtime or the plugin does not start.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// It names a pod or a container that does not run.
    #[error(
        "no pod or container {0:?} was run before: it is NAMESPACE/POD or NAMESPACE/POD/CONTAINER"
    )]
    NotRun(String),
    /// It updates a pod.
    #[error("{0:?} is a pod: an update is of one of its containers, NAMESPACE/POD/CONTAINER")]
    NotAContainer(String),
    /// A pod or a container is not there any more.
    #[error(transparent)]
    NotThere(#[from] NotThere),
    /// A fault cannot be brought about.
    #[error("cannot {fault}: {source}")]
    Fault {
        /// Which.
        fault: Fault,
        /// Why.
        source: FaultError,
    },
}

impl Scenario {
    /// Reads a scenario; `None` where the file holds something else.
    ///
    /// # Errors
    ///
    /// It is a scenario with something wrong about it.
    pub fn read(path: &Path) -> Result<Option<Self>, ScenarioError> {
        // What cannot be read is left to those who read the other kinds of file.
        jsonl::text(path).map_or(Ok(None), |text| Self::in_text(path, &text))
    }

    /// The scenario in the text that stands in `path`; `None` where that is something else.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn in_text(path: &Path, text: &str) -> Result<Option<Self>, ScenarioError> {
        #[derive(Deserialize)]
        struct Head {
            kind: String,
        }
        match serde_saphyr::from_str(text) {
            Ok(Head { kind }) if kind == "Scenario" => {}
            _ => return Ok(None),
        }
        let scenario: Self = serde_saphyr::from_str(text).map_err(|error| {
            let why = error.without_snippet().to_string();
            ScenarioError::Syntax {
                path: path.to_owned(),
                why,
            }
        })?;
        let dir = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Some(Self { dir, ..scenario }))
    }

    /// The files that it names, besides itself.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let of_steps = self.steps.iter().flat_map(|step| match &step.action {
            Action::Create(source) | Action::Run(source) => std::slice::from_ref(source),
            Action::CreateAtOnce(sources) => sources,
            _ => &[],
        });
        self.inventory
            .iter()
            .chain(of_steps)
            .filter_map(|source| match source {
                Source::File(path) => Some(self.dir.join(path)),
                Source::Inline(_) => None,
            })
    }

    /// The version that asks, where it does not say, is that of the simulation.
    pub(super) fn simulation(&self, given: &Simulation) -> Result<Simulation, UnknownVersion> {
        let profile = match &self.runtime {
            Some(version) => Profile::find(version)?,
            None => given.profile,
        };
        Ok(Simulation {
            profile,
            ..given.clone()
        })
    }

    pub(super) fn requests(
        &self,
        source: &Source,
        simulation: &Simulation,
    ) -> Result<Vec<CreateContainerRequest>, RequestsError> {
        match source {
            Source::File(path) => Ok(requests::read(&self.dir.join(path), simulation)?.requests),
            Source::Inline(document) => {
                requests::in_document(&self.dir.join("(inline)"), document, simulation)
            }
        }
    }
}
