//! A container's fate on a terminal.

use std::io::{self, Write};

use clap::builder::styling::{AnsiColor, Style};
use fake_runtime::changes::{Change, Sign, changes};
use fake_runtime::create::{Answer, CreateError};
use fake_runtime::plugin_log::LoggedDecision;
use fake_runtime::runtime::{Asked, Created, Refused};
use nri_plugin::logging::on_one_line;

pub(super) const BOLD: Style = Style::new().bold();
pub(super) const DIM: Style = Style::new().dimmed();
pub(super) const RED: Style = AnsiColor::Red.on_default();
pub(super) const GREEN: Style = AnsiColor::Green.on_default();
pub(super) const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The container, what each plugin answered and why, and what that changed.
pub(super) fn container(
    out: &mut dyn Write,
    name: &str,
    created: &Result<Created, Refused>,
    decision: Option<&LoggedDecision>,
) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", on_one_line(name))?;
    let (asked, outcome) = match created {
        Ok(created) => (&created.asked, Ok(created)),
        Err(refused) => (&refused.asked, Err(&refused.error)),
    };
    asked.iter().try_for_each(|asked| plugin(out, asked))?;
    if let Some(LoggedDecision { reason, .. }) = decision {
        writeln!(out, "  why: {}", on_one_line(reason))?;
    }
    match outcome {
        Ok(created) => all(out, &changes(&created.before, &created.after)),
        Err(error) => refused(out, error),
    }
}

fn plugin(out: &mut dyn Write, asked: &Asked) -> io::Result<()> {
    let Asked {
        plugin,
        answer,
        latency,
        ..
    } = asked;
    let style = match answer {
        Answer::Adjust(_) => Style::new(),
        Answer::Error { .. } | Answer::Lost(_) => RED,
    };
    let plugin = on_one_line(&plugin.to_string());
    let answer = on_one_line(&answer.to_string());
    let took = latency.as_secs_f64() * 1000.0;
    writeln!(
        out,
        "  {plugin} {style}{answer}{style:#} {DIM}in {took:.1} ms{DIM:#}"
    )
}

/// Why containerd makes no container.
pub(super) fn refused(out: &mut dyn Write, error: &CreateError) -> io::Result<()> {
    writeln!(
        out,
        "  {RED}refused{RED:#}: {}",
        on_one_line(&error.to_string())
    )
}

/// One change a line.
pub(super) fn all(out: &mut dyn Write, changes: &[Change]) -> io::Result<()> {
    if changes.is_empty() {
        return writeln!(out, "  nothing changed");
    }
    for change in changes {
        let style = match change.sign() {
            Sign::Added => GREEN,
            Sign::Removed => RED,
            Sign::Changed => YELLOW,
        };
        writeln!(out, "  {style}{change}{style:#}")?;
    }
    Ok(())
}
