//! A plugin binary started as a process of its own.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinHandle;

/// How many lines of its log are kept for somebody to read.
const KEPT_LINES: usize = 8192;
/// How many of the last bytes of its stderr are kept, at least.
const KEPT_STDERR: usize = 1 << 20;

/// A plugin binary cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the plugin {path}: {source}")]
pub struct SpawnError {
    /// The binary.
    pub path: PathBuf,
    /// What the operating system said.
    pub source: io::Error,
}

/// How a plugin process ended, and what it left on stderr.
#[derive(Debug)]
pub struct Exit {
    /// Its status.
    pub status: ExitStatus,
    /// Its stderr, or the end of it where that is long.
    pub stderr: String,
}

impl Exit {
    /// Whether it ended by no will of its own: by a signal, or as the panics and uncaught exceptions of its language
    /// do.
    #[must_use]
    pub fn is_crash(&self) -> bool {
        /// Rust's exit status after a panic.
        const PANIC: i32 = 101;
        let code = self.status.code();
        code.is_none_or(|code| code == PANIC) || !self.status.success() && self.panic().is_some()
    }

    /// Its status and, of what it left on stderr, the line that says most: the first of a panic, otherwise the last.
    #[must_use]
    pub fn in_short(&self) -> String {
        // A plugin that ended as it should has logged something, too.
        let last = || {
            let last = self.stderr.trim_end().lines().last();
            last.filter(|_| !self.status.success()).map(str::to_owned)
        };
        match self.panic().or_else(last) {
            Some(line) => format!("{}: {line}", self.status),
            None => self.status.to_string(),
        }
    }

    /// What a panic or an uncaught exception says in its first line.
    fn panic(&self) -> Option<String> {
        let mut lines = self.stderr.lines();
        while let Some(line) = lines.next() {
            if ["panic: ", "fatal error: ", "Exception in thread "]
                .iter()
                .any(|start| line.starts_with(start))
            {
                return Some(line.to_owned());
            }
            // Rust says why in a line of its own.
            if line.starts_with("thread '") && line.contains("panicked at") {
                return Some([line, lines.next().unwrap_or_default()].join(" "));
            }
            // Python says it after the stack.
            if line.starts_with("Traceback (most recent call last)") {
                return lines.last().map(str::to_owned);
            }
        }
        None
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stderr.trim_end() {
            "" => write!(f, "{}, with nothing on stderr", self.status),
            stderr => write!(f, "{}: {stderr}", self.status),
        }
    }
}

/// A plugin binary to start.
#[derive(Debug)]
pub struct PluginCommand {
    path: PathBuf,
    command: Command,
    stdin: Stdio,
}

impl PluginCommand {
    /// The binary at `path`, with nothing in its environment by which a runtime speaks to a plugin that it starts.
    pub fn new(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_owned();
        let command = Command::new(&path);
        Self {
            path,
            command,
            stdin: Stdio::null(),
        }
        .without_envs(is_for_plugins)
    }

    /// The binary at `path` with these arguments, as it connects to a runtime at `socket`: `{socket}` in an argument
    /// stands for its path. Where none has it, `--socket-path=` and the path are appended.
    pub fn on_socket(path: &Path, args: &[OsString], socket: &Path) -> Self {
        const PLACEHOLDER: &str = "{socket}";
        let socket = socket.to_string_lossy();
        let mut filled: Vec<OsString> = args
            .iter()
            .map(|arg| match arg.to_str() {
                Some(text) => text.replace(PLACEHOLDER, &socket).into(),
                None => arg.clone(),
            })
            .collect();
        if filled == args {
            filled.push(format!("--socket-path={socket}").into());
        }
        Self::new(path).args(filled)
    }

    /// Appends arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets environment variables.
    #[must_use]
    pub fn envs(
        mut self,
        vars: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> Self {
        self.command.envs(vars);
        self
    }

    /// Takes those of this process's variables away that `hidden` names.
    #[must_use]
    pub fn without_envs(mut self, hidden: impl Fn(&OsStr) -> bool) -> Self {
        for (name, _) in std::env::vars_os().filter(|(name, _)| hidden(name)) {
            self.command.env_remove(name);
        }
        self
    }

    /// Has its standard input be this; otherwise it has none.
    pub(crate) fn stdin(mut self, stdin: impl Into<Stdio>) -> Self {
        self.stdin = stdin.into();
        self
    }

    /// Starts it in another directory.
    #[must_use]
    pub fn current_dir(mut self, dir: impl AsRef<Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Starts it outside tokio. Nobody reads what it prints; what it writes to stderr goes to a file.
    pub(crate) fn spawn_unread(
        self,
        stderr: impl Into<Stdio>,
    ) -> Result<std::process::Child, SpawnError> {
        let mut command = self.command.into_std();
        let spawned = command
            .stdin(self.stdin)
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn();
        spawned.map_err(|source| SpawnError {
            path: self.path,
            source,
        })
    }

    /// Starts it. The process is killed when the value returned is dropped.
    ///
    /// # Errors
    ///
    /// There is no such binary, or it is none for this machine.
    pub fn spawn(mut self) -> Result<PluginProcess, SpawnError> {
        let spawned = self
            .command
            .stdin(self.stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = spawned.map_err(|source| SpawnError {
            path: self.path,
            source,
        })?;
        let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
        let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
        Ok(PluginProcess {
            child,
            log: lines(stdout),
            stderr: tokio::spawn(text(stderr)),
        })
    }
}

/// A running plugin.
#[derive(Debug)]
pub struct PluginProcess {
    child: Child,
    log: broadcast::Receiver<String>,
    stderr: JoinHandle<String>,
}

impl PluginProcess {
    /// The process's id; `None` once it has ended and been waited for.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// The next line of its stdout; `None` once that is closed. Of what nobody reads the last lines are kept.
    pub async fn next_log_line(&mut self) -> Option<String> {
        loop {
            match self.log.recv().await {
                Ok(line) => return Some(line),
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// What `read` finds in the next line of its log in which it finds anything; `None` where that does not come in
    /// `within`.
    pub async fn next_in_log<T>(
        &mut self,
        within: Duration,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let told = async {
            loop {
                let line = self.next_log_line().await?;
                if let Some(found) = read(&line) {
                    return Some(found);
                }
            }
        };
        tokio::time::timeout(within, told).await.ok().flatten()
    }

    /// Waits for it to end of its own accord. May be cancelled and called again.
    ///
    /// # Errors
    ///
    /// The operating system lost track of the process.
    pub async fn exited(&mut self) -> io::Result<Exit> {
        let status = self.child.wait().await?;
        // A reader that was cancelled or panicked has nothing to show, which is what it shows.
        let stderr = (&mut self.stderr).await.unwrap_or_default();
        Ok(Exit { status, stderr })
    }

    /// Kills it and waits until it is gone.
    ///
    /// # Errors
    ///
    /// The operating system lost track of the process.
    pub async fn kill(mut self) -> io::Result<Exit> {
        self.child.start_kill()?;
        self.exited().await
    }
}

fn is_for_plugins(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("NRI_")
}

fn lines(stream: impl AsyncRead + Send + Unpin + 'static) -> broadcast::Receiver<String> {
    let (sender, receiver) = broadcast::channel(KEPT_LINES);
    tokio::spawn(async move {
        // By bytes: to stop at what is no text would be to close the pipe that the plugin writes to.
        let mut lines = BufReader::new(stream).split(b'\n');
        while let Ok(Some(line)) = lines.next_segment().await {
            // Once nobody reads the log any more, the plugin may go on writing it.
            let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
        }
    });
    receiver
}

async fn text(mut stream: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    // What came before an error is still worth showing.
    while let Ok(1..) = stream.read_buf(&mut bytes).await {
        if bytes.len() > 2 * KEPT_STDERR {
            bytes.drain(..bytes.len() - KEPT_STDERR);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_log_line_that_is_no_text_does_not_end_the_log() {
        let command = PluginCommand::new("/bin/sh").args(["-c", r"printf 'a\377\nb\n'"]);
        let mut process = command.spawn().unwrap();
        assert_eq!(process.next_log_line().await.as_deref(), Some("a\u{fffd}"));
        assert_eq!(process.next_log_line().await.as_deref(), Some("b"));
        assert_eq!(process.next_log_line().await, None);
    }

    #[tokio::test]
    async fn the_last_lines_are_kept_of_a_log_that_nobody_reads() {
        let more = KEPT_LINES + 1000;
        let command = PluginCommand::new("/bin/sh").args(["-c", &format!("seq {more}")]);
        let mut process = command.spawn().unwrap();
        process.exited().await.unwrap();
        let mut kept = Vec::new();
        while let Some(line) = process.next_log_line().await {
            kept.push(line);
        }
        assert!(kept.len() <= KEPT_LINES, "{}", kept.len());
        assert_eq!(kept.last(), Some(&more.to_string()));
    }

    #[tokio::test]
    async fn the_end_is_kept_of_a_long_stderr() {
        let script = "head -c 10000000 /dev/zero >&2; echo the reason >&2";
        let mut process = PluginCommand::new("/bin/sh")
            .args(["-c", script])
            .spawn()
            .unwrap();
        let stderr = process.exited().await.unwrap().stderr;
        assert!(stderr.ends_with("the reason\n"));
        assert!(
            (KEPT_STDERR..=2 * KEPT_STDERR).contains(&stderr.len()),
            "{}",
            stderr.len()
        );
    }
}
