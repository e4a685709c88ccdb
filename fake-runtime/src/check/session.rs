//! A plugin's process on a runtime of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nri_proto::api::CreateContainerRequest;

use super::{Outcome, Samples};
use crate::create::Answer;
use crate::launch::Launch;
use crate::process::{Exit, PluginProcess};
use crate::profile::{Profile, REQUEST_TIMEOUT_MS};
use crate::replay::PluginSource;
use crate::runtime::{Asked, Builder, FakeRuntime, PluginInfo, Received};

/// How long a plugin may take to register, or to notice that its connection is gone.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long the runtime may take to notice that a plugin is gone.
const RUNTIME_LAG: Duration = Duration::from_millis(200);

/// How long a plugin may take over a request.
const REQUEST_TIMEOUT: Duration = Duration::from_millis(REQUEST_TIMEOUT_MS.unsigned_abs());

/// The plugin binary of a conformance run, its arguments, and what it is asked about.
///
/// ```no_run
/// # async fn check() {
/// use fake_runtime::check::{Check, Outcome, Subject};
///
/// let subject = Subject::new("target/debug/my-plugin").args(["--nri={socket}"]);
/// assert!(matches!(Check::Deadline.run(&subject).await, Outcome::Passed(_)));
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Subject {
    plugin: PluginSource,
    listening: Option<fn(&Path)>,
    pub(super) profile: &'static Profile,
    pub(super) samples: Samples,
    request_timeout: Duration,
    patience: Duration,
}

impl Subject {
    /// A plugin binary without arguments, asked by the default profile about containers of every kind.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::of(PluginSource::Start(vec![Launch::new(path)]))
    }

    /// A plugin that is started otherwise; of several the first is checked. Where it is only listened for, each check
    /// waits until it connects.
    #[must_use]
    pub fn of(plugin: PluginSource) -> Self {
        Self {
            plugin,
            listening: None,
            profile: Default::default(),
            samples: Samples::default(),
            request_timeout: REQUEST_TIMEOUT,
            patience: PATIENCE,
        }
    }

    /// Appends arguments, as [`PluginCommand::on_socket`] takes them.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        if let PluginSource::Start(plugins) = &mut self.plugin {
            plugins[0] = plugins[0].clone().args(args);
        }
        self
    }

    /// Calls this with the socket's path whenever a plugin that is listened for can connect.
    #[must_use]
    pub fn listening(self, listening: fn(&Path)) -> Self {
        Self {
            listening: Some(listening),
            ..self
        }
    }

    /// Plays another version of containerd.
    #[must_use]
    pub fn profile(self, profile: &'static Profile) -> Self {
        Self { profile, ..self }
    }

    /// Asks about other containers.
    #[must_use]
    pub fn samples(self, samples: Samples) -> Self {
        Self { samples, ..self }
    }

    /// Gives the plugin this long to answer a request, and tells it so. The default is 2 s.
    #[must_use]
    pub fn request_timeout(self, request_timeout: Duration) -> Self {
        Self {
            request_timeout,
            ..self
        }
    }

    /// Gives the plugin this long to register, and to notice that its connection is gone. The default is 5 s.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What a runtime for this plugin starts from.
    pub(super) fn builder(&self) -> Builder {
        let builder = match &self.plugin {
            PluginSource::Start(_) => FakeRuntime::builder(),
            PluginSource::Listen(socket) => FakeRuntime::builder().socket(socket),
        };
        builder
            .profile(self.profile)
            .request_timeout(self.request_timeout)
            .patience(self.patience)
    }

    /// The same with ten times the time.
    pub(super) fn patient_builder(&self) -> Builder {
        self.builder()
            .request_timeout(10 * self.request_timeout)
            .patience(10 * self.patience)
    }

    /// Starts the plugin on the runtime, and does not wait for it.
    pub(super) fn start_on(&self, runtime: FakeRuntime) -> Result<Session, Outcome> {
        let process = match &self.plugin {
            PluginSource::Start(plugins) => {
                let started = plugins[0].start(&runtime);
                Some(started.map_err(|error| Outcome::Failed(error.to_string()))?)
            }
            PluginSource::Listen(socket) => {
                if let Some(listening) = self.listening {
                    listening(socket);
                }
                None
            }
        };
        Ok(Session { runtime, process })
    }

    /// Starts the plugin on a runtime, and waits until it is registered.
    pub(super) async fn start(&self) -> Result<Session, Outcome> {
        self.start_with(self.builder()).await
    }

    /// The same on a runtime that was chosen.
    pub(super) async fn start_with(&self, builder: Builder) -> Result<Session, Outcome> {
        let mut session = self.start_on(start(builder).await?)?;
        match session.registered().await {
            Ok(_) => Ok(session),
            Err(why) => Err(Outcome::Skipped(format!("it did not register: {why}"))),
        }
    }
}

impl Subject {
    /// Starts the plugin on a runtime, and sees that it answers about an ordinary container: for checks of what is
    /// out of the ordinary.
    pub(super) async fn start_answering(&self) -> Result<Session, Outcome> {
        let mut session = self.start().await?;
        session.answer(self.plain()?).await?;
        Ok(session)
    }
}

/// Starts a runtime. That this fails is nothing of the plugin's doing.
pub(super) async fn start(builder: Builder) -> Result<FakeRuntime, Outcome> {
    builder
        .start()
        .await
        .map_err(|error| Outcome::Skipped(error.to_string()))
}

/// A plugin's process on a runtime.
pub(super) struct Session {
    pub(super) runtime: FakeRuntime,
    /// `None` where somebody else has started it.
    process: Option<PluginProcess>,
}

/// Why a plugin that was asked gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// None came in time.
    Late,
    /// It answered a stream on which nothing was asked.
    Elsewhere(u32),
    /// Its answer came in too long a frame.
    LongFrame(String),
    /// Its connection ended.
    Closed(String),
}

impl NoAnswer {
    /// For a check that is about something else.
    pub(super) fn skipped(self) -> Outcome {
        Outcome::Skipped(match self {
            Self::Late => "it gave no answer in time".to_owned(),
            Self::Elsewhere(stream) => format!("it answered stream {stream} instead"),
            Self::LongFrame(why) => why,
            Self::Closed(why) => format!("it gave no answer: {why}"),
        })
    }
}

/// What a plugin did about its connection.
pub(super) enum Reaction {
    /// It registered anew.
    CameBack(PluginInfo),
    /// It ended.
    Ended(Exit),
    /// Neither, in all the time it had.
    Nothing,
}

impl Session {
    /// Waits until the plugin is registered; the error says what it did instead, or what went wrong before.
    pub(super) async fn registered(&mut self) -> Result<PluginInfo, String> {
        let admitted = |received: &Received| match received {
            Received::Synchronized { .. } => Some(Ok(())),
            Received::Rejected { why, .. } => Some(Err(why.clone())),
            _ => None,
        };
        let by_hand = self.process.is_none();
        let waited = tokio::select! {
            biased;
            admitted = async {
                loop {
                    let admitted = self.runtime.received_one("a registration", admitted).await;
                    // Whoever starts it by hand takes the time that it takes.
                    if admitted.is_ok() || !by_hand || !self.runtime.received().is_empty() {
                        break admitted;
                    }
                }
            } => admitted,
            exit = exited(&mut self.process) => {
                // The runtime's reason, where it had one, says more than how the plugin took it.
                let rejected = self.runtime.received_one("a registration", admitted);
                match tokio::time::timeout(RUNTIME_LAG, rejected).await {
                    Ok(Ok(Err(why))) => Ok(Err(why)),
                    _ => Ok(Err(ended(exit))),
                }
            }
        };
        match waited {
            Ok(Ok(())) => {
                let plugin = self.runtime.plugins().into_iter().next();
                plugin.ok_or_else(|| "it was gone as soon as it was registered".to_owned())
            }
            Ok(Err(why)) => Err(why),
            Err(_) => Err(match self.runtime.received().last() {
                Some(last) => format!("the last that was seen: {last}"),
                None => "it did not connect".to_owned(),
            }),
        }
    }

    /// Asks about a container. `None` where the plugin does not subscribe to containers.
    pub(super) async fn ask(
        &mut self,
        request: CreateContainerRequest,
    ) -> Result<Option<Asked>, NoAnswer> {
        let CreateContainerRequest { pod, container } = request;
        let asked = match self.runtime.create_container(pod, container).await {
            Ok(created) => created.asked,
            Err(refused) => refused.asked,
        };
        let Some(asked) = asked.into_iter().next() else {
            return Ok(None);
        };
        match &asked.answer {
            Answer::Lost(_) => Err(self.why_no_answer().await),
            _ => Ok(Some(asked)),
        }
    }

    async fn why_no_answer(&mut self) -> NoAnswer {
        let received = self.runtime.received();
        let stray = received.iter().find_map(|received| match received {
            Received::StrayAnswer { stream, .. } => Some(*stream),
            _ => None,
        });
        let closed = received.iter().rev().find_map(|received| match received {
            Received::Closed { why, .. } => Some(why.clone()),
            _ => None,
        });
        match (stray, closed) {
            (Some(stream), _) => NoAnswer::Elsewhere(stream),
            (None, Some(why)) if why.contains("first frame") => NoAnswer::LongFrame(why),
            (None, Some(why)) if why.contains("deadline") => NoAnswer::Late,
            (None, why) => match self.exit_soon().await {
                Some(exit) => NoAnswer::Closed(exit),
                None => NoAnswer::Closed(why.unwrap_or_else(|| "it is gone".to_owned())),
            },
        }
    }

    /// How the process ended, where it has or is about to.
    pub(super) async fn exit_soon(&mut self) -> Option<String> {
        let exit = tokio::time::timeout(Duration::from_secs(1), exited(&mut self.process))
            .await
            .ok()?;
        Some(ended(exit))
    }

    /// What the plugin does once its connection is gone, which had registered so often before.
    pub(super) async fn reaction(&mut self, registrations: usize) -> Reaction {
        let came_back = async {
            self.runtime.registrations(registrations + 1).await.ok()?;
            self.runtime.plugin_registered().await.ok()
        };
        tokio::select! {
            biased;
            plugin = came_back => plugin.map_or(Reaction::Nothing, Reaction::CameBack),
            exit = exited(&mut self.process) => exit.map_or(Reaction::Nothing, Reaction::Ended),
        }
    }
}

/// The end of the process, if it is ours.
async fn exited(process: &mut Option<PluginProcess>) -> std::io::Result<Exit> {
    match process {
        Some(process) => process.exited().await,
        None => std::future::pending().await,
    }
}

/// How a process ended, with what it said about it.
pub(super) fn ended(exit: std::io::Result<Exit>) -> String {
    match exit {
        Err(error) => format!("the plugin was lost: {error}"),
        Ok(exit) => format!("the plugin ended, {}", exit.in_short()),
    }
}
