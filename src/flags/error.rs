//! Why a command line cannot be read, each in one line.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::logging::on_one_line;

/// Why a command line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    /// There is no such flag.
    #[error("unknown flag {flag:?}, {}", hint(.similar.as_deref()))]
    Unknown {
        /// The flag, with its dashes.
        flag: String,
        /// The flag that was perhaps meant.
        similar: Option<String>,
    },
    /// A flag that needs a value is the last argument.
    #[error("flag {flag} needs a value")]
    MissingValue {
        /// The flag, with its dashes.
        flag: String,
    },
    /// A flag that takes no value is given one.
    #[error("flag {flag} takes no value")]
    UnwantedValue {
        /// The flag, with its dashes.
        flag: String,
    },
    /// An argument that is no flag.
    #[error("unexpected argument {argument:?}: only flags are taken, as --name=value")]
    Unexpected {
        /// The argument.
        argument: String,
    },
    /// An argument or a variable that is not text.
    #[error("{origin} is not valid UTF-8")]
    NotText {
        /// Which one.
        origin: String,
    },
    /// The runtime's configuration of the plugin cannot be read.
    #[error("the plugin's configuration: {}", on_one_line(message))]
    Configuration {
        /// What is wrong with it.
        message: String,
    },
    /// Whatever else the parser refuses.
    #[error("{}", on_one_line(message))]
    Other {
        /// The first line of the parser's message.
        message: String,
    },
}

fn hint(similar: Option<&str>) -> String {
    similar.map_or_else(
        || "see --help".to_owned(),
        |flag| format!("did you mean {flag}?"),
    )
}

impl From<clap::Error> for FlagError {
    fn from(error: clap::Error) -> Self {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        let argument = text(ContextKind::InvalidArg).unwrap_or_default();
        match error.kind() {
            ErrorKind::UnknownArgument if argument.len() > 1 && argument.starts_with('-') => {
                Self::Unknown {
                    flag: argument,
                    similar: text(ContextKind::SuggestedArg),
                }
            }
            ErrorKind::UnknownArgument => Self::Unexpected { argument },
            ErrorKind::InvalidValue => Self::MissingValue {
                flag: argument.split(' ').next().unwrap_or_default().to_owned(),
            },
            ErrorKind::TooManyValues => Self::UnwantedValue { flag: argument },
            _ => Self::Other {
                message: first_line(&error.render().to_string()),
            },
        }
    }
}

fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
