//! `mock-node explain`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use fake_runtime::create::name_of;
use fake_runtime::host::Host;
use fake_runtime::requests::Requests;
use mock_node::explain::{Explanation, Rule, explain};
use nri_plugin::config::Config;
use nri_plugin::flags::{Flags, Invocation};
use nri_plugin::logging::on_one_line;
use serde_json::json;

use fake_runtime::cli::show::{self, BOLD, DIM};
use fake_runtime::cli::{Output, Result, Simulate, Verdict};

const EXAMPLES: &str = "\
Examples:
  mock-node explain pod.yaml
  mock-node explain pod.yaml --gpus 2 --overlay-host-path=/tmp/overlay
  mock-node explain requests.jsonl.gz --output json --excluded-namespaces=";

/// Say what each container would get from nri-plugin and why, rule by rule, without a plugin or a socket.
///
/// What is staged is read from this machine, at the paths that the plugin's flags name; the staging gate is taken to
/// be open. As for the plugin, each of its flags may also be given by its environment variable.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Pod manifest (YAML or JSON), recording (JSON lines, plain or gzipped), or CreateContainer request (JSON)
    file: PathBuf,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    simulate: Simulate,
    /// Flags of nri-plugin; whatever follows the first of them is taken for one
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PLUGIN FLAGS"
    )]
    plugin_flags: Vec<OsString>,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let flags = match Flags::parse(self.plugin_flags, |name| std::env::var_os(name))? {
            Invocation::Run(flags) => flags,
            Invocation::Print(text) => {
                write!(out, "{text}")?;
                return Ok(Verdict::Same);
            }
        };
        let config = Config::resolve(*flags)?;
        let staged = nri_plugin::host::Host::new();
        let Requests { profile, requests } = self.simulate.read(&self.file)?;
        for request in requests {
            let explanation = explain(&config, &request, &staged, profile, &Host::default())?;
            let name = name_of(&request);
            match self.output {
                Output::Text => text(out, &name, &explanation)?,
                Output::Json => writeln!(out, "{}", json(&name, &explanation))?,
            }
        }
        Ok(Verdict::Same)
    }
}

fn text(out: &mut dyn Write, name: &str, explanation: &Explanation) -> std::io::Result<()> {
    let Explanation {
        rules,
        reason,
        decision,
        changes,
    } = explanation;
    writeln!(out, "{BOLD}{}{BOLD:#}", on_one_line(name))?;
    for Rule {
        rule,
        found,
        decides,
    } in rules
    {
        let mark = if *decides { " <- decides" } else { "" };
        let found = on_one_line(found);
        writeln!(out, "  {DIM}{rule}:{DIM:#} {found}{BOLD}{mark}{BOLD:#}")?;
    }
    writeln!(out, "  {BOLD}{}{BOLD:#}: {reason}", decision.outcome.name())?;
    for warning in &decision.warnings {
        writeln!(out, "  warning: {}", on_one_line(&warning.to_string()))?;
    }
    match changes {
        Ok(changes) => show::all(out, changes)?,
        Err(error) => show::refused(out, error)?,
    }
    writeln!(out)
}

fn json(name: &str, explanation: &Explanation) -> serde_json::Value {
    let Explanation {
        rules,
        reason,
        decision,
        changes,
    } = explanation;
    let warnings: Vec<_> = decision.warnings.iter().map(ToString::to_string).collect();
    json!({
        "container": name,
        "rules": rules,
        "decision": decision.outcome.name(),
        "reason": reason,
        "warnings": warnings,
        "changes": changes.as_ref().ok(),
        "refused": changes.as_ref().err().map(ToString::to_string),
    })
}
