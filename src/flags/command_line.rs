//! Reading the command line over the environment.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, FromArgMatches};

use super::{FlagError, Flags};

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Run the plugin.
    Run(Box<Flags>),
    /// Print this text and exit: the help or the version.
    Print(String),
}

impl Flags {
    /// Reads `args`, without the program's name, and each flag's variable through `variable`. A flag that is
    /// given replaces its variable, also where both are lists.
    ///
    /// `-name` is taken as `--name`, as Go's flags are; the last value of a flag wins, except that lists add up.
    ///
    /// # Errors
    ///
    /// The first argument that cannot be read.
    pub fn parse(
        args: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Invocation, FlagError> {
        Self::default().overridden(args, variable)
    }

    /// The same with these flags under the variables.
    ///
    /// # Errors
    ///
    /// The first argument that cannot be read.
    pub fn overridden(
        mut self,
        args: impl IntoIterator<Item = OsString>,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Invocation, FlagError> {
        let mut command = described();
        let typed = spelled_out(&command, texts(args)?)?;

        // The variables are read here, as a command line under the typed one, and not by clap: that could
        // neither be given an environment in a test nor tell an empty variable from an empty flag.
        let parser = parser();
        let matches = |args: Vec<String>| parser.clone().try_get_matches_from(args);
        match matches(typed) {
            Ok(typed) => {
                let from_environment = matches(environment(&command, variable)?)?;
                self.update_from_arg_matches(&from_environment)?;
                self.update_from_arg_matches(&typed)?;
                Ok(Invocation::Run(Box::new(self)))
            }
            Err(error) => match error.kind() {
                ErrorKind::DisplayHelp => {
                    Ok(Invocation::Print(command.render_long_help().to_string()))
                }
                ErrorKind::DisplayVersion => Ok(Invocation::Print(command.render_version())),
                _ => Err(error.into()),
            },
        }
    }
}

/// The flags without their variables.
pub(super) fn parser() -> Command {
    Flags::command().mut_args(|arg| arg.env(None::<&'static str>))
}

/// The flags with everything that the help tells of them.
fn described() -> Command {
    let mut command = Flags::command().mut_args(|arg| arg.hide_env_values(true));
    command.build();
    // There is no shorter help that this one could point to.
    command.mut_arg("help", |help| help.long_help("Print this help"))
}

/// Every variable that is set, as the flag that it stands for.
fn environment(
    command: &Command,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<String>, FlagError> {
    let mut args = Vec::new();
    for arg in command.get_arguments() {
        let Some((flag, name)) = arg
            .get_long()
            .zip(arg.get_env().and_then(|name| name.to_str()))
        else {
            continue;
        };
        if let Some(value) = variable(name) {
            let value = value.into_string().map_err(|_| FlagError::NotText {
                origin: format!("environment variable {name}"),
            })?;
            args.push(format!("--{flag}={value}"));
        }
    }
    Ok(args)
}

fn texts(args: impl IntoIterator<Item = OsString>) -> Result<Vec<String>, FlagError> {
    args.into_iter()
        .map(|arg| {
            arg.into_string().map_err(|arg| FlagError::NotText {
                origin: format!("argument {:?}", arg.to_string_lossy()),
            })
        })
        .collect()
}

/// Spells every flag as `--name` or `--name=value`, as the parser expects them: `-name` gets its second dash,
/// and a value of its own argument is joined to its flag, whatever it starts with.
fn spelled_out(command: &Command, args: Vec<String>) -> Result<Vec<String>, FlagError> {
    let mut spelled = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            // Only arguments that are no flags can follow.
            return match args.next() {
                None => Ok(spelled),
                Some(argument) => Err(FlagError::Unexpected { argument }),
            };
        }
        let one_dash = arg.len() > 2 && arg.starts_with('-') && !arg.starts_with("--");
        let flag = if one_dash { format!("-{arg}") } else { arg };
        match takes_next(command, &flag).then(|| args.next()).flatten() {
            Some(value) => spelled.push(format!("{flag}={value}")),
            None => spelled.push(flag),
        }
    }
    Ok(spelled)
}

/// Whether `arg` is a flag whose value is the argument after it.
fn takes_next(command: &Command, arg: &str) -> bool {
    let named = |known: &&Arg| {
        arg.strip_prefix("--")
            .is_some_and(|name| known.get_long() == Some(name))
    };
    command
        .get_arguments()
        .find(named)
        .is_some_and(|known| known.get_action().takes_values() && !known.is_require_equals_set())
}
