//! One event as one line.

use std::error::Error;
use std::fmt::{self, Write};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level};

/// How an event is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line, for collectors.
    Json,
    /// Words, for people.
    Plain,
}

impl fmt::Display for Format {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Json => "json",
            Self::Plain => "plain",
        })
    }
}

/// The line for `event`, ended by its newline.
pub(super) fn format(format: Format, at: SystemTime, event: &Event<'_>) -> String {
    let level = event.metadata().level();
    let time = humantime::format_rfc3339_millis(at);
    let mut fields = Fields {
        format,
        message: String::new(),
        rest: String::new(),
    };
    event.record(&mut fields);
    let Fields { message, rest, .. } = fields;
    match format {
        Format::Json => {
            let level = lower_case(*level);
            let message = json(&message);
            format!("{{\"level\":\"{level}\",\"time\":\"{time}\",\"msg\":{message}{rest}}}\n")
        }
        Format::Plain => {
            let message = on_one_line(&message);
            format!("{time} {level:<5} {message}{rest}\n")
        }
    }
}

/// `text` with its control characters spelled out, so that whatever it quotes it stays on its line and tells a
/// terminal nothing.
pub fn on_one_line(text: &str) -> String {
    without_controls(text, |control| control.escape_default().to_string())
}

/// An error as a program's last line: what it quotes may be several lines, such as a path or the words of whoever is
/// at the other end.
pub fn last_line(error: &dyn Error) -> String {
    on_one_line(&error.to_string().lines().collect::<Vec<_>>().join("; "))
}

fn without_controls(text: &str, spelled_out: impl Fn(char) -> String) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.push_str(&spelled_out(character));
        } else {
            line.push(character);
        }
    }
    line
}

fn lower_case(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

/// JSON itself escapes only the first 32 control characters, and there are 65.
fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    without_controls(&quoted, |control| format!("\\u{:04x}", u32::from(control)))
}

/// Collects an event's fields, already written the way the line wants them.
struct Fields {
    format: Format,
    message: String,
    rest: String,
}

impl Fields {
    /// A number or a boolean, which reads the same in both formats.
    fn bare(&mut self, field: &Field, value: impl fmt::Display) {
        // Writing to a String cannot fail.
        let _ = match self.format {
            Format::Json => write!(self.rest, ",\"{field}\":{value}"),
            Format::Plain => write!(self.rest, " {field}={value}"),
        };
    }

    fn text(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
            return;
        }
        let _ = match self.format {
            Format::Json => write!(self.rest, ",\"{field}\":{}", json(value)),
            Format::Plain => write!(self.rest, " {field}={value:?}"),
        };
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        // JSON has no word for infinities and NaN.
        if value.is_finite() {
            self.bare(field, value);
        } else {
            self.text(field, &value.to_string());
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }
}
