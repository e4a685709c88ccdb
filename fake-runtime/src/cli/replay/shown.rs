//! What was replayed, in each of the ways in which it is shown.

use std::io::{self, Write};
use std::time::Duration;

use crate::changes::changes;
use crate::create::Answer;
use crate::product::Decision;
use crate::replay::Container;
use crate::runtime::{Asked, Fault};
use crate::scenario::{Plain, Played};
use serde_json::{Value, json};

use crate::cli::show::{self, BOLD, DIM, RED};

/// What a file came to.
pub(super) struct Shown {
    played: Vec<Played>,
    /// Where there is a scenario.
    plain: Option<Plain>,
}

impl Shown {
    /// Containers of which nothing is expected.
    pub(super) fn containers(containers: Vec<Container>) -> Self {
        let plain = |container| Played::Container {
            container: Box::new(container),
            unmet: Vec::new(),
        };
        Self {
            played: containers.into_iter().map(plain).collect(),
            plain: None,
        }
    }

    pub(super) fn scenario(played: Vec<Played>, plain: Plain) -> Self {
        Self {
            played,
            plain: Some(plain),
        }
    }

    /// Whether everything came as a scenario expects.
    pub(super) fn as_expected(&self) -> bool {
        self.played.iter().all(|played| match played {
            Played::Container { unmet, .. } => unmet.is_empty(),
            Played::Fault { .. } => true,
        })
    }

    /// For people.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for played in &self.played {
            match played {
                Played::Fault { fault, came_back } => print_fault(out, fault, *came_back)?,
                Played::Container { container, unmet } => {
                    let Container {
                        name,
                        created,
                        decision,
                    } = &**container;
                    show::container(out, name, created, decision.as_ref())?;
                    for unmet in unmet {
                        writeln!(out, "  {RED}{unmet}{RED:#}")?;
                    }
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// For scripts, one object a line.
    pub(super) fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.played
            .iter()
            .try_for_each(|played| writeln!(out, "{}", json(played)))
    }

    /// The same as plain text, without what differs from run to run.
    pub(super) fn golden(&self) -> String {
        let texts: Vec<String> = self.played.iter().map(golden).collect();
        let text = texts.join("\n");
        self.plain
            .as_ref()
            .map_or(text.clone(), |plain| plain.line(&text))
    }
}

fn print_fault(out: &mut dyn Write, fault: &Fault, came_back: Option<Duration>) -> io::Result<()> {
    write!(out, "{BOLD}fault: {fault}{BOLD:#}")?;
    match came_back {
        Some(after) => {
            let ms = after.as_secs_f64() * 1000.0;
            writeln!(out, "\n  the plugin came back {DIM}after {ms:.1} ms{DIM:#}")
        }
        None => writeln!(out),
    }
}

fn golden(played: &Played) -> String {
    let (
        Container {
            name,
            created,
            decision,
        },
        unmet,
    ) = match played {
        Played::Fault {
            fault,
            came_back: Some(_),
        } => {
            return format!("fault: {fault}\n  the plugin came back\n");
        }
        Played::Fault {
            fault,
            came_back: None,
        } => return format!("fault: {fault}\n"),
        Played::Container { container, unmet } => (&**container, unmet),
    };
    let mut text = format!("{name}\n");
    for Asked { plugin, answer, .. } in asked(played) {
        text += &format!("  {plugin} {answer}\n");
    }
    if let Some(Decision { reason, .. }) = decision {
        text += &format!("  why: {reason}\n");
    }
    match created {
        Ok(created) => {
            for change in changes(&created.before, &created.after) {
                text += &format!("  {change}\n");
            }
        }
        Err(refused) => text += &format!("  refused: {refused}\n"),
    }
    for unmet in unmet {
        text += &format!("  {unmet}\n");
    }
    text
}

fn json(played: &Played) -> Value {
    match played {
        Played::Fault { fault, came_back } => json!({
            "fault": fault,
            "came_back_after_ms": came_back.map(|it| it.as_secs_f64() * 1000.0),
        }),
        Played::Container { container, unmet } => {
            let Container {
                name,
                created,
                decision,
            } = &**container;
            json!({
                "container": name,
                "asked": asked(played).iter().map(json_asked).collect::<Vec<_>>(),
                "decision": decision.as_ref().map(|it| &it.decision),
                "reason": decision.as_ref().map(|it| &it.reason),
                "changes": created.as_ref().ok().map(|it| changes(&it.before, &it.after)),
                "refused": created.as_ref().err().map(ToString::to_string),
                "unmet": unmet,
            })
        }
    }
}

fn asked(played: &Played) -> &[Asked] {
    match played {
        Played::Fault { .. } => &[],
        Played::Container { container, .. } => match &container.created {
            Ok(created) => &created.asked,
            Err(refused) => &refused.asked,
        },
    }
}

fn json_asked(asked: &Asked) -> Value {
    let mut line = json!({
        "plugin": asked.plugin,
        "latency_ms": asked.latency.as_secs_f64() * 1000.0,
    });
    let (field, value) = match &asked.answer {
        Answer::Adjust(adjustment) => ("adjust", json!(adjustment)),
        Answer::Error { code, message } => ("error", json!({ "code": code, "message": message })),
        Answer::Lost(why) => ("lost", json!(why)),
    };
    line[field] = value;
    line
}
