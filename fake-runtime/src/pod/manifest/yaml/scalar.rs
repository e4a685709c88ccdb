//! What an unquoted scalar is.

use granit_parser::Tag;
use serde_json::{Number, Value};

/// A value by itself. kubectl makes JSON of YAML by the rules of YAML 1.1, in which `yes` and `off` are booleans and
/// `010` is 8.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// Nothing.
    Null,
    /// True or false, as it is written.
    Bool(bool, String),
    /// A number, as it is written.
    Number(Number, String),
    /// A text.
    Text(String),
}

impl Scalar {
    pub(super) fn of(text: &str, plain: bool, tag: Option<&Tag>) -> Self {
        let told = tag.and_then(Tag::core_suffix);
        if plain || told.is_some_and(|kind| kind != "str") {
            Self::plain(text)
        } else {
            Self::Text(text.to_owned())
        }
    }

    fn plain(text: &str) -> Self {
        let written = || text.to_owned();
        match text {
            "" | "~" | "null" | "Null" | "NULL" => return Self::Null,
            "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
                return Self::Bool(true, written());
            }
            "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off"
            | "OFF" => return Self::Bool(false, written()),
            _ => {}
        }
        match number(text) {
            Some(number) => Self::Number(number, written()),
            None => Self::Text(written()),
        }
    }

    /// As the name of a field, which in JSON is always a text.
    pub(super) fn to_text(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value, _) => value.to_string(),
            Self::Number(number, _) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }

    /// As it is written, a text in quotes.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(_, written) | Self::Number(_, written) => written.clone(),
            Self::Text(text) => format!("{text:?}"),
        }
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value, _) => Value::Bool(*value),
            Self::Number(number, _) => Value::Number(number.clone()),
            Self::Text(text) => Value::String(text.clone()),
        }
    }
}

fn number(text: &str) -> Option<Number> {
    let first = text
        .strip_prefix(['+', '-'])
        .unwrap_or(text)
        .chars()
        .next()?;
    if !(first.is_ascii_digit() || first == '.') {
        return None;
    }
    let digits = text.replace('_', "");
    integer(&digits).or_else(|| float(&digits))
}

fn integer(digits: &str) -> Option<Number> {
    let (negative, magnitude) = match digits.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, digits.strip_prefix('+').unwrap_or(digits)),
    };
    let (radix, magnitude) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &magnitude[2..]),
        [b'0', b'o' | b'O', ..] => (8, &magnitude[2..]),
        [b'0', b'b' | b'B', ..] => (2, &magnitude[2..]),
        [b'0', _, ..] => (8, &magnitude[1..]),
        _ => (10, magnitude),
    };
    if magnitude.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = u64::from_str_radix(magnitude, radix).ok()?;
    if negative {
        Some(0i64.checked_sub_unsigned(magnitude)?.into())
    } else {
        Some(magnitude.into())
    }
}

fn float(digits: &str) -> Option<Number> {
    // What Rust reads beyond it: `inf`, `nan`, and a dot alone it does not.
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    if !digits.chars().all(plain) {
        return None;
    }
    Number::from_f64(digits.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unquoted_scalars_are_what_kubectl_takes_them_for() {
        for (text, json) in [
            ("true", "true"),
            ("Yes", "true"),
            ("off", "false"),
            ("~", "null"),
            ("", "null"),
            ("12", "12"),
            ("-3", "-3"),
            ("010", "8"),
            ("0x10", "16"),
            ("1_000", "1000"),
            ("0.5", "0.5"),
            (".5", "0.5"),
            ("1e3", "1000.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("tRuE", "\"tRuE\""),
            ("500m", "\"500m\""),
            ("12Ti", "\"12Ti\""),
            ("1.2.3", "\"1.2.3\""),
            ("2026-01-01", "\"2026-01-01\""),
            (".inf", "\".inf\""),
            ("-", "\"-\""),
            ("a", "\"a\""),
        ] {
            assert_eq!(Scalar::plain(text).to_json().to_string(), json, "{text}");
        }
    }

    #[test]
    fn quoted_scalars_are_texts() {
        assert_eq!(Scalar::of("true", false, None), Scalar::Text("true".into()));
    }
}
