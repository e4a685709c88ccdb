//! Reading the configuration that a runtime keeps for a plugin that it starts itself: a YAML mapping of flag names
//! to values.

use std::fmt;

use clap::{Arg, Command, FromArgMatches};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::UserMessageFormatter;

use super::command_line::parser;
use super::{FlagError, Flags};

impl Flags {
    /// Reads `configuration`. Each entry is the flag of its name: one without a value is the flag given empty, a
    /// list is the flag given once for each item.
    ///
    /// Where it is wrong, the first error comes with the flags that can be read all the same: they tell where to
    /// log it.
    pub fn configured(configuration: &str) -> (Self, Option<FlagError>) {
        let (settings, mut error) = match read(configuration) {
            Ok(settings) => (settings, None),
            Err(error) => {
                let lines = configuration.lines().filter_map(|line| read(line).ok());
                (lines.flatten().collect(), Some(error))
            }
        };
        let parser = parser();
        let mut args = Vec::new();
        for (name, values) in settings {
            match spelled_out(&parser, &name, values) {
                Ok(spelled) => args.extend(spelled),
                Err(wrong) => error = error.or(Some(wrong)),
            }
        }
        let matches = parser.try_get_matches_from(args);
        match matches.and_then(|matches| Self::from_arg_matches(&matches)) {
            Ok(flags) => (flags, error),
            Err(wrong) => (Self::default(), error.or(Some(wrong.into()))),
        }
    }

    /// The configuration that says the same as these flags.
    ///
    /// # Errors
    ///
    /// When there is none, because of a character that YAML has no way to write.
    pub fn to_configuration(&self) -> Result<String, FlagError> {
        let mut text = String::new();
        if let Ok(Value::Object(entries)) = serde_json::to_value(self) {
            for (name, value) in entries.iter().filter(|(_, value)| !value.is_null()) {
                text += &format!("{name}: {value}\n");
            }
        }
        match Self::configured(&text) {
            (read, None) if read == *self => Ok(text),
            (_, error) => Err(error.unwrap_or_else(|| FlagError::Configuration {
                message: "a value cannot be written as YAML".to_owned(),
            })),
        }
    }
}

/// An entry's name, and its values: one, or those of a list.
type Setting = (String, Values);

fn read(configuration: &str) -> Result<Vec<Setting>, FlagError> {
    // A value is text, whatever it looks like.
    let options = serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
    };
    let read: Result<Option<Settings>, _> =
        serde_saphyr::from_str_with_options(configuration, options);
    match read {
        Ok(settings) => Ok(settings.unwrap_or_default().0),
        Err(error) => Err(FlagError::Configuration {
            message: error.render_with_formatter(&UserMessageFormatter),
        }),
    }
}

/// The arguments that an entry stands for.
fn spelled_out(parser: &Command, name: &str, values: Values) -> Result<Vec<String>, FlagError> {
    let is_named = |flag: &&Arg| flag.get_long() == Some(name);
    let Some(flag) = parser.get_arguments().find(is_named) else {
        let wrong = parser.clone().try_get_matches_from([format!("--{name}")]);
        let unknown = FlagError::Unknown {
            flag: format!("--{name}"),
            similar: None,
        };
        // The parser knows what was perhaps meant; and takes `help`, which is no flag here.
        let wrong = wrong.err().map(FlagError::from);
        let told = wrong.filter(|wrong| matches!(wrong, FlagError::Unknown { .. }));
        return Err(told.unwrap_or(unknown));
    };
    let values = match values {
        Values::One(value) => vec![value],
        Values::List(values) if !matches!(flag.get_action(), clap::ArgAction::Append) => {
            return Err(FlagError::Configuration {
                message: format!("{name} takes one value, not a list: {}", values.join(", ")),
            });
        }
        Values::List(values) if values.is_empty() => vec![String::new()],
        Values::List(values) => values,
    };
    let argument = |value| format!("--{name}={value}");
    Ok(values.into_iter().map(argument).collect())
}

/// The entries in their order.
#[derive(Default)]
struct Settings(Vec<Setting>);

enum Values {
    One(String),
    List(Vec<String>),
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self::default())
    }
}

impl<'de> Visitor<'de> for Settings {
    type Value = Self;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a mapping of flag names to values")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Self, A::Error> {
        while let Some(setting) = entries.next_entry()? {
            self.0.push(setting);
        }
        Ok(self)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a text, a number, true, false or a list of them")
    }

    fn visit_str<E>(self, text: &str) -> Result<Values, E> {
        Ok(Values::One(text.to_owned()))
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Values, E> {
        Ok(Values::One(boolean.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Values, E> {
        Ok(Values::One(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Values, E> {
        Ok(Values::One(number.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Values, E> {
        Ok(Values::One(String::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element()? {
            values.push(value);
        }
        Ok(Values::List(values))
    }
}
