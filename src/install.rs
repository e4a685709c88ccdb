//! Installing the program where the runtime starts it, together with its configuration. That survives a reboot of the
//! node, after which containers come up before any DaemonSet does.
//!
//! A runtime does not start over an executable file in its plugin directory that is no plugin. So each file is written
//! beside the directory, on the same file system, and renamed into it once it is complete; and goes the same way.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use thiserror::Error;

use crate::config::Config;
use crate::flags::{FlagError, Flags};

/// Where a runtime looks for plugins to start, below the node's root; `plugin_path` in containerd's configuration.
const PLUGINS: &str = "opt/nri/plugins";
/// Where it looks for their configuration; `plugin_config_path`.
const CONFIGURATIONS: &str = "etc/nri/conf.d";

/// Why nothing, or not all, was installed or removed.
#[derive(Debug, Error)]
pub enum InstallError {
    /// It would be installed with a flag that cannot be written down.
    #[error(transparent)]
    Flags(#[from] FlagError),
    /// The program is not there to be copied.
    #[error("cannot read this program: {0}")]
    Program(io::Error),
    /// A file cannot be put into its place.
    #[error("cannot install {}: {error}{}", path.display(), mend(error))]
    Install {
        /// The file.
        path: PathBuf,
        /// What that met with.
        error: io::Error,
    },
    /// A file cannot be removed.
    #[error("cannot remove {}: {error}{}", path.display(), mend(error))]
    Remove {
        /// The file.
        path: PathBuf,
        /// What that met with.
        error: io::Error,
    },
}

fn mend(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::CrossesDevices {
        "; mount the directory above it, not the directory itself"
    } else {
        ""
    }
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Put the program and its configuration where the runtime finds them.
    Install,
    /// Remove both.
    Uninstall,
}

impl Task {
    /// The task that is called `word` on the command line.
    pub fn named(word: &OsStr) -> Option<Self> {
        match word.to_str() {
            Some("install") => Some(Self::Install),
            Some("uninstall") => Some(Self::Uninstall),
            _ => None,
        }
    }
}

/// The node's root, by `--root=` in front of the flags, and the rest of `args`.
pub fn root(args: &[OsString]) -> (&Path, &[OsString]) {
    let named = args.split_first().and_then(|(first, rest)| {
        let root = first.to_str()?.strip_prefix("--root=")?;
        Some((Path::new(root), rest))
    });
    named.unwrap_or((Path::new("/"), args))
}

/// An installation of the program: both of its files.
#[derive(Debug)]
pub struct Installation {
    program: Place,
    configuration: Place,
}

impl Installation {
    /// Below `root`, under the name and the index that `config` registers with.
    pub fn new(root: &Path, config: &Config) -> Self {
        let name = format!("{}-{}", config.plugin_index, config.plugin_name);
        Self {
            configuration: Place {
                directory: root.join(CONFIGURATIONS),
                name: format!("{name}.conf"),
            },
            program: Place {
                directory: root.join(PLUGINS),
                name,
            },
        }
    }

    /// Does `task`, with `flags` as the configuration. Returns what to say of it.
    ///
    /// # Errors
    ///
    /// When a file cannot be put into its place or removed, or `flags` cannot be written down.
    pub fn run(&self, task: Task, flags: &Flags) -> Result<String, InstallError> {
        match task {
            Task::Install => {
                let configuration = flags.to_configuration()?;
                let program = std::env::current_exe().and_then(File::open);
                let mut program = program.map_err(InstallError::Program)?;
                // The program last: without its configuration it would run with the defaults.
                self.configuration
                    .put(&mut configuration.as_bytes(), 0o644)?;
                self.program.put(&mut program, 0o755)?;
            }
            Task::Uninstall => {
                self.program.clear()?;
                self.configuration.clear()?;
            }
        }
        let path = self.program.path();
        Ok(match task {
            Task::Install => format!(
                "installed {}; the runtime starts it when it is next started itself",
                path.display()
            ),
            Task::Uninstall => format!(
                "removed {}; what the runtime started of it runs on until the runtime ends",
                path.display()
            ),
        })
    }
}

/// The place of one file.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    name: String,
}

impl Place {
    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Where the file is while it is incomplete, or about to go.
    fn beside(&self) -> PathBuf {
        self.directory.with_file_name(format!(".{}", self.name))
    }

    /// Keeps others who install from the file beside the directory: in a rolling update there are two.
    fn lock(&self) -> io::Result<File> {
        let above = File::open(self.directory.parent().unwrap_or(&self.directory))?;
        flock(&above, FlockOperation::LockExclusive)?;
        Ok(above)
    }

    fn put(&self, content: &mut impl Read, mode: u32) -> Result<(), InstallError> {
        let mut put = || {
            fs::create_dir_all(&self.directory)?;
            let _lock = self.lock()?;
            let mut file = File::create(self.beside())?;
            io::copy(content, &mut file)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            // Or a power failure could leave less than all of it under the name.
            file.sync_all()?;
            // What is open to be written to cannot be executed.
            drop(file);
            fs::rename(self.beside(), self.path())
        };
        put().map_err(|error| InstallError::Install {
            path: self.path(),
            error,
        })
    }

    fn clear(&self) -> Result<(), InstallError> {
        let clear = || {
            let _lock = self.lock()?;
            fs::rename(self.path(), self.beside())?;
            fs::remove_file(self.beside())
        };
        match clear() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(InstallError::Remove {
                path: self.path(),
                error,
            }),
            _ => Ok(()),
        }
    }
}
