//! A container's fate on a terminal.

use std::io::{self, Write};
use std::path::Path;

use crate::changes::{Change, Sign, changes};
use crate::create::{Answer, CreateError};
use crate::one_line::on_one_line;
use crate::product::Decision;
use crate::runtime::{Asked, Created, Refused, Updated};
use clap::builder::styling::{AnsiColor, Style};

/// What a paragraph begins with.
pub const BOLD: Style = Style::new().bold();
/// What is beside the point.
pub const DIM: Style = Style::new().dimmed();
/// What is wrong, or gone.
pub const RED: Style = AnsiColor::Red.on_default();
/// What is right, or new.
pub const GREEN: Style = AnsiColor::Green.on_default();
/// What is another than before.
pub const YELLOW: Style = AnsiColor::Yellow.on_default();

/// The container, what each plugin answered and why, and what that changed.
pub fn container(
    out: &mut dyn Write,
    name: &str,
    created: &Result<Created, Refused>,
    decision: Option<&Decision>,
) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", on_one_line(name))?;
    let (asked, outcome) = match created {
        Ok(created) => (&created.asked, Ok(created)),
        Err(refused) => (&refused.asked, Err(&refused.error)),
    };
    asked.iter().try_for_each(|asked| plugin(out, asked))?;
    if let Some(Decision { reason, .. }) = decision {
        writeln!(out, "  why: {}", on_one_line(reason))?;
    }
    match outcome {
        Ok(created) => {
            for updated in &created.updates {
                update(out, updated)?;
            }
            all(out, &changes(&created.before, &created.after))
        }
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

/// A change of a container that a plugin asked for, and what became of it.
pub(super) fn update(out: &mut dyn Write, updated: &Updated) -> io::Result<()> {
    let Updated {
        container,
        resources,
        fate,
    } = updated;
    let resources = serde_json::to_string(resources).unwrap_or_default();
    let container = on_one_line(container);
    writeln!(
        out,
        "  update of {container} to {}: {fate}",
        on_one_line(&resources)
    )
}

/// Why containerd makes no container.
pub fn refused(out: &mut dyn Write, error: &CreateError) -> io::Result<()> {
    writeln!(
        out,
        "  {RED}refused{RED:#}: {}",
        on_one_line(&error.to_string())
    )
}

/// One change a line.
pub fn all(out: &mut dyn Write, changes: &[Change]) -> io::Result<()> {
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

/// What is to be said of a file, on stderr: beside the output, which scripts read.
pub fn notes(file: &Path, notes: &[String]) {
    for note in notes {
        let note = on_one_line(note);
        // With stderr closed nobody has to know.
        let _ = writeln!(anstream::stderr(), "{}: {note}", file.display());
    }
}
