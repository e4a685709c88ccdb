//! The program's log on stdout or in a file: one line an event, as JSON or as plain text.
//!
//! Formatting happens where the event does; writing happens on a thread of its own behind a bounded
//! buffer, so that a reader of stdout that stopped reading never delays an answer to the runtime.

mod file;
mod line;
mod writer;

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use prometheus_client::metrics::counter::Counter;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

pub use file::RotatedFile;
pub use line::{Format, last_line, on_one_line};
use writer::Writer;

/// How many bytes of formatted lines may wait to be written before further ones are dropped.
const PENDING_BYTES: usize = 256 * 1024;

/// How long the process's end waits for a reader that may be gone.
const FLUSH_LIMIT: Duration = Duration::from_millis(250);

/// The running log. Lines still waiting when it is dropped get a quarter of a second.
#[derive(Debug)]
pub struct Log {
    writer: Writer,
}

impl Log {
    /// Makes `out` the process's log, from `level` on. Every line that finds the buffer full, or cannot be
    /// written, is counted in `dropped`.
    ///
    /// # Errors
    ///
    /// When the writer thread cannot be started.
    pub fn to(
        out: impl Write + Send + 'static,
        level: LevelFilter,
        format: Format,
        dropped: Counter,
    ) -> io::Result<Self> {
        let writer = Writer::start(out, PENDING_BYTES, dropped)?;
        let subscriber = Lines {
            writer: writer.clone(),
            level,
            format,
        };
        // Only a second call in one process can fail here, and then the first log goes on serving.
        let _ = tracing::subscriber::set_global_default(subscriber);
        Ok(Self { writer })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.writer.flush(FLUSH_LIMIT);
    }
}

/// Turns events into lines. The program has no spans: an event says all there is to say.
struct Lines {
    writer: Writer,
    level: LevelFilter,
    format: Format,
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.level)
    }

    fn event(&self, event: &Event<'_>) {
        self.writer
            .push(line::format(self.format, SystemTime::now(), event).as_bytes());
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::logging::writer::tests::Sink;

    /// A log of the current thread that a test can read.
    pub(crate) struct Logged {
        sink: Sink,
        writer: Writer,
        _default: tracing::subscriber::DefaultGuard,
    }

    impl Logged {
        pub(crate) fn new(level: LevelFilter, format: Format) -> Self {
            let sink = Sink::default();
            let writer = Writer::start(sink.clone(), PENDING_BYTES, Counter::default()).unwrap();
            let subscriber = Lines {
                writer: writer.clone(),
                level,
                format,
            };
            let _default = tracing::subscriber::set_default(subscriber);
            Self {
                sink,
                writer,
                _default,
            }
        }

        pub(crate) fn text(&self) -> String {
            self.writer.flush(Duration::from_secs(10));
            self.sink.text()
        }
    }

    fn logged(level: LevelFilter, format: Format, log: impl FnOnce()) -> String {
        let logged = Logged::new(level, format);
        log();
        logged.text()
    }

    /// The line with the value of its time, which no test can know, taken out.
    fn timeless(line: &str) -> String {
        let (before, rest) = line.split_once("\"time\":\"").unwrap();
        let (time, after) = rest.split_once('"').unwrap();
        assert_eq!(time.len(), "2026-01-02T03:04:05.678Z".len(), "{time}");
        assert!(time.ends_with('Z'), "{time}");
        format!("{before}\"time\":\"\"{after}")
    }

    #[test]
    fn an_event_is_one_json_object_with_level_time_msg_and_then_its_fields() {
        let text = logged(LevelFilter::INFO, Format::Json, || {
            tracing::warn!(
                pod = "p\"1\n",
                devices = 3,
                adjusted = true,
                ratio = 0.5,
                error = %"late",
                "not injecting",
            );
        });
        assert_eq!(
            timeless(&text),
            concat!(
                r#"{"level":"warn","time":"","msg":"not injecting","pod":"p\"1\n","#,
                r#""devices":3,"adjusted":true,"ratio":0.5,"error":"late"}"#,
                "\n"
            )
        );
    }

    #[test]
    fn a_plain_line_is_time_level_message_and_quoted_fields() {
        let text = logged(LevelFilter::DEBUG, Format::Plain, || {
            tracing::debug!(pod = "p 1", count = 2, "left alone");
        });
        let (_time, rest) = text.split_once(' ').unwrap();
        assert_eq!(rest, "DEBUG left alone pod=\"p 1\" count=2\n");
    }

    #[test]
    fn a_message_that_quotes_a_line_break_stays_one_line() {
        for format in [Format::Json, Format::Plain] {
            let text = logged(LevelFilter::WARN, format, || {
                tracing::warn!(pod = "p\n1", "skipped: {}", "/dev/nvidia\n\u{1b}[31mERROR");
            });
            assert_eq!(text.lines().count(), 1, "{text}");
            assert!(!text.contains('\u{1b}'), "{text}");
        }
    }

    #[test]
    fn a_control_character_reaches_no_terminal_and_is_not_lost() {
        let rewritten = "c\u{1b}[2K\u{7f}\u{9b}31m";
        for format in [Format::Json, Format::Plain] {
            let text = logged(LevelFilter::WARN, format, || {
                tracing::warn!(container = rewritten, "left alone: {rewritten}");
            });
            let line = text.strip_suffix('\n').unwrap();
            assert!(!line.contains(char::is_control), "{line:?}");
            if format == Format::Json {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["container"], rewritten);
                assert_eq!(line["msg"], format!("left alone: {rewritten}"));
            }
        }
    }

    #[test]
    fn an_event_below_the_level_is_not_logged() {
        let text = logged(LevelFilter::WARN, Format::Json, || {
            tracing::info!("quiet");
            tracing::error!("loud");
        });
        assert_eq!(text.lines().count(), 1);
        assert!(text.contains("loud"), "{text}");
    }
}
