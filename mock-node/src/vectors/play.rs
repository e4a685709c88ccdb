//! Playing one case: stage, start the plugin, ask it, compare.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fake_runtime::create::Answer;
use fake_runtime::process::{Exit, PluginProcess, SpawnError};
use fake_runtime::runtime::{FakeRuntime, StartError};
use fake_runtime::tree::{TreeError, make_tree};
use nri_proto::api::ContainerAdjustment;

use super::case::{Case, Expect, Placeholders};
use super::compare::difference;
use crate::plugin;
use crate::staging::{NodeAgent, StagingLock};

/// Generous, since a case is about what is answered and the machine may be busy with many of them.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// What a plugin that refuses its command line begins its last words with.
const STARTUP_ERROR: &str = "nri-plugin: ";

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The plugin gave the expected answer.
    Passed,
    /// It did not.
    Failed(Mismatch),
    /// The case could not be set up; says why.
    Skipped(String),
}

/// How an answer differs from the expected one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What the case expects, in a few words.
    pub expected: String,
    /// What came, in a few words.
    pub got: String,
    /// What differs between the two, where both are adjustments.
    pub diff: Option<String>,
}

/// A case cannot be played at all, through no fault of the plugin's answers.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// Something of its tree cannot be made.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// The lock cannot be held as the case says.
    #[error("cannot hold the staging lock {path}: {source}")]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The plugin's binary cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// There is no socket to be had.
    #[error(transparent)]
    Runtime(#[from] StartError),
    /// There is no temporary directory, port or process to be had.
    #[error("cannot set the case up: {0}")]
    Io(#[from] io::Error),
    /// What it expects is no adjustment.
    #[error("the expected adjustment is none: {0}")]
    Expected(#[from] serde_json::Error),
    /// Its container is none once its placeholders are filled in.
    #[error("the container is none with its placeholders filled in: {0}")]
    Container(serde_json::Error),
}

/// What a plugin did.
enum Got {
    Answer(Answer),
    Exit(Exit),
    /// It never registered, and did not end either.
    Neither(String),
}

/// Plays `case` against the plugin binary at `plugin`: a process, a socket and a directory of its own.
///
/// # Errors
///
/// The case cannot be played. One that only lacks the privileges is [`Verdict::Skipped`] instead.
pub async fn play(case: &Case, plugin: &Path) -> Result<Verdict, PlayError> {
    let root = tempfile::Builder::new().prefix("case-").tempdir()?;
    let agent = match &case.agent {
        Some(answer) => Some(NodeAgent::start(answer.clone()).await?),
        None => None,
    };
    let placeholders = Placeholders {
        root: root.path().display().to_string(),
        agent: agent.as_ref().map(NodeAgent::url).unwrap_or_default(),
    };
    match make_tree(root.path(), &placeholders.fill_tree(&case.tree)) {
        Err(error @ TreeError::NotPermitted { .. }) => {
            return Ok(Verdict::Skipped(error.to_string()));
        }
        made => made?,
    }
    let _lock = hold_lock(case, root.path())?;
    let got = ask(case, plugin, root.path(), &placeholders).await?;
    judge(&case.expect, got, &placeholders)
}

fn hold_lock(case: &Case, root: &Path) -> Result<Option<StagingLock>, PlayError> {
    let Some(lock) = &case.lock else {
        return Ok(None);
    };
    let path = root.join(&lock.path);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match StagingLock::hold(&path, lock.hold) {
        Ok(held) => Ok(Some(held)),
        Err(source) => Err(PlayError::Lock { path, source }),
    }
}

async fn ask(
    case: &Case,
    plugin: &Path,
    root: &Path,
    placeholders: &Placeholders,
) -> Result<Got, PlayError> {
    let runtime = FakeRuntime::builder()
        .request_timeout(REQUEST_TIMEOUT)
        .start()
        .await?;
    let mut process = plugin::command(plugin)
        // Ahead of the case's own flags, which may say otherwise.
        .args([
            &format!("--socket-path={}", runtime.socket_path().display()),
            "--health-addr=",
        ])
        .args(case.flags.iter().map(|flag| placeholders.fill(flag)))
        .envs(
            case.process_env
                .iter()
                .map(|(name, value)| (name, placeholders.fill(value))),
        )
        .current_dir(root)
        .spawn()?;
    let got = registered_or_ended(&runtime, &mut process).await?;
    if let Some(got) = got {
        return Ok(got);
    }
    let container = placeholders.container(case.container.as_ref());
    let container = container.map_err(PlayError::Container)?;
    let asked = match runtime.create_container(case.pod.clone(), container).await {
        Ok(created) => created.asked,
        Err(refused) => refused.asked,
    };
    process.kill().await?;
    let answer = asked.into_iter().next().map(|asked| asked.answer);
    // A plugin that left between its registration and the request is asked nothing.
    Ok(Got::Answer(answer.unwrap_or_else(|| {
        Answer::Lost("it was gone before the request".into())
    })))
}

/// Waits until the plugin is registered, or is not going to be.
async fn registered_or_ended(
    runtime: &FakeRuntime,
    process: &mut PluginProcess,
) -> Result<Option<Got>, PlayError> {
    Ok(tokio::select! {
        registered = runtime.plugin_registered() => {
            registered.err().map(|error| Got::Neither(error.to_string()))
        }
        exit = process.exited() => Some(Got::Exit(exit?)),
    })
}

fn judge(expect: &Expect, got: Got, placeholders: &Placeholders) -> Result<Verdict, PlayError> {
    let diff = match (expect, &got) {
        (Expect::Error(_), Got::Answer(Answer::Error { .. })) => return Ok(Verdict::Passed),
        (Expect::StartupError(_), Got::Exit(exit)) if refused_command_line(exit) => {
            return Ok(Verdict::Passed);
        }
        (Expect::Adjust(expected), Got::Answer(Answer::Adjust(adjustment))) => {
            let expected = placeholders.adjustment(expected)?;
            match difference(expected.as_ref(), Some(adjustment)) {
                None => return Ok(Verdict::Passed),
                diff => diff,
            }
        }
        _ => None,
    };
    let expected = match expect {
        Expect::Adjust(expected) => describe(placeholders.adjustment(expected)?.as_ref()),
        Expect::Error(_) => "an error".to_owned(),
        Expect::StartupError(_) => {
            format!("exit status 1 and {STARTUP_ERROR:?} with the reason on stderr")
        }
    };
    let got = match got {
        Got::Answer(Answer::Adjust(adjustment)) => describe(Some(&adjustment)),
        Got::Answer(Answer::Error { code, message }) => format!("the error {message:?} ({code})"),
        Got::Answer(Answer::Lost(why)) => format!("no answer: {why}"),
        Got::Exit(exit) => format!("{} and on stderr {:?}", exit.status, exit.stderr.trim_end()),
        Got::Neither(why) => format!("no registration: {why}"),
    };
    Ok(Verdict::Failed(Mismatch {
        expected,
        got,
        diff,
    }))
}

fn refused_command_line(exit: &Exit) -> bool {
    exit.status.code() == Some(1) && exit.stderr.starts_with(STARTUP_ERROR)
}

fn describe(adjustment: Option<&ContainerAdjustment>) -> String {
    let empty = ContainerAdjustment::default();
    let some = adjustment.is_some_and(|adjustment| *adjustment != empty);
    if some {
        "an adjustment".to_owned()
    } else {
        "no adjustment".to_owned()
    }
}
