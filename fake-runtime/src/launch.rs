//! How a plugin is started so that it meets a runtime: by its socket, or connected to it from the first.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::process::{PluginCommand, PluginProcess, SpawnError};
use crate::runtime::{FakeRuntime, Given};

/// The variables by which a runtime tells a plugin that it starts who it is, and where its connection.
const NAME: &str = "NRI_PLUGIN_NAME";
const INDEX: &str = "NRI_PLUGIN_IDX";
const SOCKET: &str = "NRI_PLUGIN_SOCKET";
/// The descriptor on which containerd hands it the connection.
const DESCRIPTOR: &str = "3";

/// A plugin binary and how it is started.
///
/// ```no_run
/// # async fn start(runtime: &fake_runtime::FakeRuntime) -> Result<(), fake_runtime::process::SpawnError> {
/// use fake_runtime::launch::Launch;
///
/// let plugin = Launch::new("my-plugin").args(["-verbose"]).pre_connected().config("log: debug");
/// let _process = plugin.start(runtime)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    path: PathBuf,
    args: Vec<OsString>,
    envs: Vec<(OsString, OsString)>,
    pre_connected: bool,
    config: String,
}

impl Launch {
    /// A plugin binary, by its path, or by a name that is looked for in `PATH` as a shell does.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: found(path.into()),
            args: Vec::new(),
            envs: Vec::new(),
            pre_connected: false,
            config: String::new(),
        }
    }

    /// Appends arguments, as [`PluginCommand::on_socket`] takes them; one that is connected from the first is given
    /// none of its own accord.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.envs.push((key.into(), value.into()));
        self
    }

    /// Sets an environment variable unless it is set already.
    pub(crate) fn default_env(self, key: &str, value: &str) -> Self {
        if self.envs.iter().any(|(set, _)| set == key) {
            return self;
        }
        self.env(key, value)
    }

    /// Starts it as containerd starts what is in its plugin directory: connected, and told its name and index.
    #[must_use]
    pub fn pre_connected(self) -> Self {
        Self {
            pre_connected: true,
            ..self
        }
    }

    /// Has Configure bring this text, which only a plugin gets that the runtime starts.
    #[must_use]
    pub fn config(self, config: impl Into<String>) -> Self {
        Self {
            pre_connected: true,
            config: config.into(),
            ..self
        }
    }

    /// The binary.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the runtime connects it.
    #[must_use]
    pub fn is_pre_connected(&self) -> bool {
        self.pre_connected
    }

    /// With other arguments.
    pub(crate) fn with_args(&self, args: Vec<OsString>) -> Self {
        Self {
            args,
            ..self.clone()
        }
    }

    /// Its arguments.
    pub(crate) fn arguments(&self) -> &[OsString] {
        &self.args
    }

    /// Starts it, and does not wait until it is registered.
    ///
    /// # Errors
    ///
    /// There is no such binary, or it is none for this machine.
    pub fn start(&self, runtime: &FakeRuntime) -> Result<PluginProcess, SpawnError> {
        if self.pre_connected {
            return self.start_connected(runtime);
        }
        PluginCommand::on_socket(&self.path, &self.args, runtime.socket_path())
            .envs(self.envs.iter().map(|(key, value)| (key, value)))
            .spawn()
    }

    fn start_connected(&self, runtime: &FakeRuntime) -> Result<PluginProcess, SpawnError> {
        let (index, name) = self.identity();
        let failed = |source: std::io::Error| SpawnError {
            path: self.path.clone(),
            source,
        };
        if !self.path.exists() {
            return Err(failed(std::io::ErrorKind::NotFound.into()));
        }
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)
            .map_err(|error| failed(error.into()))?;
        // The plugin may read its connection as it likes, and the flag is of the socket's one end.
        rustix::io::ioctl_fionbio(&theirs, false).map_err(|error| failed(error.into()))?;
        // Only the first three descriptors can be given to a child without unsafe code; the shell moves it on, and is
        // the plugin from then on.
        let script = format!("exec {DESCRIPTOR}<&0 0</dev/null; exec \"$0\" \"$@\"");
        let process = PluginCommand::new("/bin/sh")
            .args(["-c", &script])
            .args([self.path.as_os_str()])
            .args(&self.args)
            .envs([(NAME, name.as_str()), (INDEX, &index), (SOCKET, DESCRIPTOR)])
            .envs(self.envs.iter().map(|(key, value)| (key, value)))
            .stdin(theirs)
            .spawn()?;
        let given = Given {
            index,
            name,
            config: self.config.clone(),
        };
        runtime.connect(ours, given).map_err(failed)?;
        Ok(process)
    }

    /// The index and the name in the file's name, as in containerd's plugin directory; a file with another name plays
    /// `10-` and that.
    fn identity(&self) -> (String, String) {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        match file.split_once('-') {
            Some((index, name))
                if index.len() == 2 && index.bytes().all(|it| it.is_ascii_digit()) =>
            {
                (index.to_owned(), name.to_owned())
            }
            _ => ("10".to_owned(), file.into_owned()),
        }
    }
}

/// The file as it is, made absolute; otherwise the first of that name in `PATH`.
fn found(path: PathBuf) -> PathBuf {
    if path.is_file() {
        return path.canonicalize().unwrap_or(path);
    }
    let is_name = path.components().count() == 1;
    let dirs = std::env::var_os("PATH")
        .filter(|_| is_name)
        .unwrap_or_default();
    let in_path = std::env::split_paths(&dirs).map(|dir| dir.join(&path));
    in_path
        .into_iter()
        .find(|file| file.is_file())
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_found_in_path() {
        assert_eq!(
            Launch::new("sh").path().file_name(),
            Path::new("/bin/sh").file_name()
        );
        assert!(Launch::new("sh").path().is_absolute());
        assert_eq!(
            Launch::new("no-such-plugin").path(),
            Path::new("no-such-plugin")
        );
    }

    #[test]
    fn a_pre_connected_plugin_is_named_by_its_file() {
        let identity = |path: &str| Launch::new(path).identity();
        assert_eq!(identity("/x/07-logger"), ("07".into(), "logger".into()));
        assert_eq!(identity("/x/logger"), ("10".into(), "logger".into()));
    }
}
