//! A container that was replayed, in each of the ways in which it is shown.

use std::io::{self, Write};

use fake_runtime::changes::changes;
use fake_runtime::create::Answer;
use fake_runtime::plugin_log::LoggedDecision;
use fake_runtime::runtime::{Asked, Created, Refused};
use serde_json::{Value, json};

use crate::cli::show;

/// A container, and what became of it.
pub(super) struct Container {
    pub(super) name: String,
    pub(super) created: Result<Created, Refused>,
    pub(super) decision: Option<LoggedDecision>,
}

impl Container {
    /// For people.
    pub(super) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        show::container(out, &self.name, &self.created, self.decision.as_ref())?;
        writeln!(out)
    }

    /// The same as plain text, without what differs from run to run.
    pub(super) fn golden(&self) -> String {
        let mut text = format!("{}\n", self.name);
        for Asked { plugin, answer, .. } in self.asked() {
            text += &format!("  {plugin} {answer}\n");
        }
        if let Some(LoggedDecision { reason, .. }) = &self.decision {
            text += &format!("  why: {reason}\n");
        }
        match &self.created {
            Ok(created) => {
                for change in changes(&created.before, &created.after) {
                    text += &format!("  {change}\n");
                }
            }
            Err(refused) => text += &format!("  refused: {refused}\n"),
        }
        text
    }

    /// For scripts.
    pub(super) fn json(&self) -> Value {
        let asked: Vec<_> = self.asked().iter().map(asked).collect();
        json!({
            "container": self.name,
            "asked": asked,
            "decision": self.decision.as_ref().map(|it| &it.decision),
            "reason": self.decision.as_ref().map(|it| &it.reason),
            "changes": self.created.as_ref().ok().map(|it| changes(&it.before, &it.after)),
            "refused": self.created.as_ref().err().map(ToString::to_string),
        })
    }

    fn asked(&self) -> &[Asked] {
        match &self.created {
            Ok(created) => &created.asked,
            Err(refused) => &refused.asked,
        }
    }
}

fn asked(asked: &Asked) -> Value {
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
