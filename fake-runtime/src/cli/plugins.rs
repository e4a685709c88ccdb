//! Options for the plugins that a command starts or waits for.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Report, Result};
use crate::launch::Launch;
use crate::replay::PluginSource;

/// Options of every command that talks to plugins.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("source").required(true).args(["plugin", "listen"])))]
pub(super) struct Plugins {
    /// The plugin binary, or its name in PATH; arguments of its own may follow in the same word, between blanks
    #[arg(long, value_name = "PLUGIN")]
    pub(super) plugin: Vec<String>,
    /// Wait on this socket for a plugin that somebody else starts, and say on stdout when it is there to connect to
    #[arg(long, value_name = "SOCKET")]
    pub(super) listen: Option<PathBuf>,
    /// Start the plugin as containerd starts those in its plugin directory: already connected, with its name and index
    /// (of a file NN-NAME, otherwise 10) in NRI_PLUGIN_NAME and NRI_PLUGIN_IDX
    #[arg(long, requires = "plugin")]
    pre_connected: bool,
    /// Hand over the text of this file in Configure, which containerd does only with plugins that it starts: implies
    /// --pre-connected
    #[arg(long, value_name = "FILE", requires = "plugin")]
    config: Option<PathBuf>,
    /// Set a variable in the plugin's environment; may be given more than once
    #[arg(long, value_name = "KEY=VALUE", requires = "plugin", value_parser = variable)]
    env: Vec<(String, String)>,
    /// The plugin's arguments; {socket} in them is the path of the NRI socket, and where none has it,
    /// --socket-path=PATH is appended
    #[arg(last = true, value_name = "ARGS", requires = "plugin")]
    args: Vec<OsString>,
}

impl Plugins {
    pub(super) fn source(&self) -> Result<PluginSource> {
        if let Some(socket) = &self.listen {
            return Ok(PluginSource::Listen(socket.clone()));
        }
        let config = match &self.config {
            Some(file) => Some(
                std::fs::read_to_string(file)
                    .map_err(|error| format!("cannot read {}: {error}", file.display()))?,
            ),
            None => None,
        };
        let launch = |word: &String| {
            let mut launch = launch(word).args(self.args.iter().cloned());
            for (key, value) in &self.env {
                launch = launch.env(key, value);
            }
            match &config {
                Some(text) => launch.config(text),
                None if self.pre_connected => launch.pre_connected(),
                None => launch,
            }
        };
        let launches: Vec<Launch> = self.plugin.iter().map(launch).collect();
        match launches.iter().find(|launch| !launch.path().is_file()) {
            Some(missing) => {
                Err(format!("cannot find the plugin {}", missing.path().display()).into())
            }
            None => Ok(PluginSource::Start(launches)),
        }
    }

    /// The arguments of every plugin.
    pub(super) fn args(&self) -> &[OsString] {
        &self.args
    }

    /// The plugins' files, to be looked at for changes.
    pub(super) fn files(&self) -> impl Iterator<Item = PathBuf> {
        self.plugin
            .iter()
            .map(|word| launch(word).path().to_owned())
    }

    /// For whoever starts the plugin, perhaps a script.
    pub(super) fn say_who_is_waited_for(
        &self,
        out: &mut dyn Write,
        output: Report,
    ) -> std::io::Result<()> {
        let Some(socket) = &self.listen else {
            return Ok(());
        };
        match output {
            Report::Json => say_json(out, socket),
            _ => say(out, socket),
        }
    }
}

/// For people, and for scripts that wait for a line.
pub(super) fn say(out: &mut dyn Write, socket: &Path) -> std::io::Result<()> {
    writeln!(out, "listening on {}", socket.display())?;
    out.flush()
}

/// For scripts.
pub(super) fn say_json(out: &mut dyn Write, socket: &Path) -> std::io::Result<()> {
    writeln!(out, "{}", serde_json::json!({ "listening": socket }))?;
    out.flush()
}

/// A file as it is; otherwise a command line.
fn launch(word: &str) -> Launch {
    if Path::new(word).is_file() {
        return Launch::new(word);
    }
    let mut words = word.split_whitespace();
    Launch::new(words.next().unwrap_or_default()).args(words)
}

fn variable(text: &str) -> std::result::Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("not KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}
