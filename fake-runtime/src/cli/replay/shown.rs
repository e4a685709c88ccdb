//! What was replayed, in each of the ways in which it is shown.

use std::io::{self, Write};
use std::time::Duration;

use crate::changes::{changes, ignored};
use crate::create::Answer;
use crate::one_line::on_one_line;
use crate::product::Decision;
use crate::profile::Profile;
use crate::replay::Played;
use crate::replay::{Container, Failed};
use crate::runtime::{Asked, Created, Fault, Heard, Refused, Told, Turn, Updated};
use crate::scenario::Plain;
use clap::builder::styling::Style;
use serde_json::{Value, json};

use crate::cli::junit::{Case, Outcome};
use crate::cli::show::{self, BOLD, DIM, RED, YELLOW};

/// What a file came to.
pub(super) struct Shown {
    played: Vec<Played>,
    /// Where there is a scenario.
    plain: Option<Plain>,
    /// The containerd that asked, where it is one for all.
    profile: Option<&'static Profile>,
    failed: Vec<Failed>,
}

impl Shown {
    /// What was played and nothing is expected of.
    pub(super) fn played(
        played: Vec<Played>,
        profile: &'static Profile,
        failed: Vec<Failed>,
    ) -> Self {
        Self {
            played,
            plain: None,
            profile: Some(profile),
            failed,
        }
    }

    pub(super) fn scenario(played: Vec<Played>, plain: Plain) -> Self {
        Self {
            played,
            plain: Some(plain),
            profile: None,
            failed: Vec::new(),
        }
    }

    /// Whether everything came as a scenario expects, and otherwise whether all containers were created, and all
    /// plugins came through it. What is compared with earlier runs may be refused as it was then.
    pub(super) fn as_expected(&self, is_compared: bool) -> bool {
        let is_scenario = self.plain.is_some();
        self.failed.is_empty()
            && self.played.iter().all(|played| match played {
                Played::Container { container, unmet } => {
                    let may_be_refused = is_scenario || is_compared;
                    unmet.is_empty() && (may_be_refused || container.created.is_ok())
                }
                Played::Turn { turn, .. } => {
                    let is_lost = |told: &Told| matches!(told.heard, Heard::Lost(_));
                    turn.refused.is_none() && !turn.told.iter().any(is_lost)
                }
                Played::Fault { .. } => true,
            })
    }

    /// One result for each container, and one for each plugin that did not come through it.
    pub(super) fn cases(&self, file: &str) -> Vec<Case> {
        let of_container = |played: &Played| match played {
            Played::Fault { .. } => None,
            Played::Turn { what, turn } => Some(Case {
                class: file.to_owned(),
                name: what.clone(),
                outcome: turn
                    .refused
                    .clone()
                    .map_or(Outcome::Passed, Outcome::Failed),
            }),
            Played::Container { container, unmet } => {
                let refused = container.created.as_ref().err();
                let refused = refused
                    .filter(|_| self.plain.is_none())
                    .map(ToString::to_string);
                let failed = refused.or_else(|| (!unmet.is_empty()).then(|| unmet.join("\n")));
                Some(Case {
                    class: file.to_owned(),
                    name: container.name.clone(),
                    outcome: failed.map_or(Outcome::Passed, Outcome::Failed),
                })
            }
        };
        let of_plugin = |failed: &Failed| Case {
            class: file.to_owned(),
            name: failed.plugin.clone(),
            outcome: Outcome::Failed(format!("{}\n{}", failed.why, failed.stderr)),
        };
        let containers = self.played.iter().filter_map(of_container);
        containers
            .chain(self.failed.iter().map(of_plugin))
            .collect()
    }

    /// For people.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for played in &self.played {
            match played {
                Played::Fault { fault, came_back } => print_fault(out, fault, *came_back)?,
                Played::Turn { what, turn } => print_turn(out, what, turn)?,
                Played::Container { container, unmet } => {
                    let Container {
                        name,
                        created,
                        decision,
                    } = &**container;
                    show::container(out, name, created, decision.as_ref())?;
                    for line in self.ignored(created) {
                        writeln!(out, "  {YELLOW}{line}{YELLOW:#}")?;
                    }
                    for unmet in unmet {
                        writeln!(out, "  {RED}{unmet}{RED:#}")?;
                    }
                }
            }
            writeln!(out)?;
        }
        for Failed {
            plugin,
            why,
            stderr,
        } in &self.failed
        {
            writeln!(
                out,
                "{RED}{} {}{RED:#}",
                on_one_line(plugin),
                on_one_line(why)
            )?;
            for line in stderr.lines() {
                writeln!(out, "  {DIM}stderr:{DIM:#} {}", on_one_line(line))?;
            }
        }
        Ok(())
    }

    /// One line for each field of an answer that this version passes over.
    fn ignored(&self, created: &Result<Created, Refused>) -> Vec<String> {
        let (Ok(created), Some(profile)) = (created, self.profile) else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        for asked in &created.asked {
            if let Answer::Adjust(adjustment) = &asked.answer {
                for field in ignored(profile, adjustment) {
                    let plugin = &asked.plugin;
                    lines.push(format!(
                        "containerd {} ignores {field} of {plugin}",
                        profile.name
                    ));
                }
            }
            for id in &asked.evictions {
                lines.push(format!(
                    "containerd evicts nothing: {} asked it of {id}",
                    asked.plugin
                ));
            }
        }
        lines
    }

    /// For scripts, one object a line.
    pub(super) fn print_json(&self, out: &mut dyn Write) -> io::Result<()> {
        self.played
            .iter()
            .try_for_each(|played| writeln!(out, "{}", self.json(played)))?;
        self.failed.iter().try_for_each(
            |Failed {
                 plugin,
                 why,
                 stderr,
             }| {
                let line = json!({ "plugin": plugin, "failed": why, "stderr": stderr });
                writeln!(out, "{line}")
            },
        )
    }

    fn json(&self, played: &Played) -> Value {
        let mut line = json(played);
        if let Played::Container { container, .. } = played {
            line["ignored"] = json!(self.ignored(&container.created));
        }
        line
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

fn print_turn(out: &mut dyn Write, what: &str, turn: &Turn) -> io::Result<()> {
    writeln!(out, "{BOLD}{}{BOLD:#}", on_one_line(what))?;
    for Told {
        plugin,
        event,
        heard,
        latency,
    } in &turn.told
    {
        let style = match heard {
            Heard::Well => Style::new(),
            Heard::Error(_) | Heard::Lost(_) => RED,
        };
        let heard = on_one_line(&heard.to_string());
        let took = latency.as_secs_f64() * 1000.0;
        writeln!(
            out,
            "  {} told of {}: {style}{heard}{style:#} {DIM}in {took:.1} ms{DIM:#}",
            on_one_line(plugin),
            event.as_str_name(),
        )?;
    }
    for update in &turn.updates {
        show::update(out, update)?;
    }
    match &turn.refused {
        Some(why) => writeln!(out, "  {RED}refused{RED:#}: {}", on_one_line(why)),
        None => Ok(()),
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
        Played::Turn { what, turn } => {
            let mut text = format!("{what}\n");
            for Told {
                plugin,
                event,
                heard,
                ..
            } in &turn.told
            {
                text += &format!("  {plugin} told of {}: {heard}\n", event.as_str_name());
            }
            for Updated {
                container, fate, ..
            } in &turn.updates
            {
                text += &format!("  update of {container}: {fate}\n");
            }
            if let Some(why) = &turn.refused {
                text += &format!("  refused: {why}\n");
            }
            return text;
        }
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
        Played::Turn { what, turn } => json!({
            "turn": what,
            "told": turn.told.iter().map(json_told).collect::<Vec<_>>(),
            "updates": turn.updates.iter().map(json_update).collect::<Vec<_>>(),
            "refused": turn.refused,
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
                "updates": created.as_ref().ok().map(|it| it.updates.iter().map(json_update).collect::<Vec<_>>()),
                "refused": created.as_ref().err().map(ToString::to_string),
                "unmet": unmet,
            })
        }
    }
}

fn asked(played: &Played) -> &[Asked] {
    match played {
        Played::Fault { .. } | Played::Turn { .. } => &[],
        Played::Container { container, .. } => match &container.created {
            Ok(created) => &created.asked,
            Err(refused) => &refused.asked,
        },
    }
}

fn json_told(told: &Told) -> Value {
    let (heard, why) = match &told.heard {
        Heard::Well => ("well", None),
        Heard::Error(why) => ("error", Some(why)),
        Heard::Lost(why) => ("lost", Some(why)),
    };
    json!({
        "plugin": told.plugin,
        "event": told.event.as_str_name(),
        "heard": heard,
        "why": why,
    })
}

fn json_update(updated: &Updated) -> Value {
    json!({
        "container": updated.container,
        "resources": updated.resources,
        "fate": updated.fate,
    })
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
