//! `mock-node explain`.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use clap::Parser as _;
use fake_runtime::create::name_of;
use fake_runtime::requests::{Requests, STDIN};
use mock_node::explain::{Explanation, Rule, explain, verdict};
use mock_node::plugin;
use nri_plugin::config::Config;
use nri_plugin::decide::{Outcome, Reason};
use nri_plugin::flags::{Flags, Invocation};
use nri_plugin::logging::on_one_line;
use serde_json::json;

use fake_runtime::cli::show::{self, BOLD, DIM};
use fake_runtime::cli::{Output, Result, Simulate, Verdict};

const EXAMPLES: &str = "\
Examples:
  mock-node explain pod.yaml
  mock-node explain pod.yaml --gpus 2 --overlay-host-path=/tmp/overlay
  mock-node explain manifests/ --with objects.yaml --node node.yaml --brief
  kubectl get pod NAME -o yaml | mock-node explain -
  mock-node explain requests.jsonl.gz --output json --excluded-namespaces=";

/// Say what each container would get from nri-plugin and why, rule by rule, without a plugin or a socket.
///
/// Ends in one line for each container: what it gets, or why it gets nothing and the one thing to change. What is
/// staged is read from this machine, at the paths that the plugin's flags name; the staging gate is taken to be open.
/// As for the plugin, each of its flags may also be given by its environment variable.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Manifests of Pods and workloads (YAML or JSON), recordings (JSON lines, plain or gzipped), CreateContainer
    /// requests (JSON, YAML, or a log of NRI's logger plugin); directories of such; - is stdin. May be several
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only the last lines: one for each container
    #[arg(long, conflicts_with = "output")]
    brief: bool,
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
        let (files, this) = self.with_all_files();
        this.explain(&files, out)
    }

    /// Files may follow files. What clap takes for the plugin's is read again without them, since options of this tool
    /// may follow.
    fn with_all_files(mut self) -> (Vec<PathBuf>, Self) {
        let is_file = |arg: &&OsString| *arg == STDIN || !arg.to_string_lossy().starts_with('-');
        let mut files = vec![self.file.clone()];
        let mut args: Vec<OsString> = std::env::args_os().collect();
        loop {
            let further = self.plugin_flags.iter().take_while(is_file).count();
            if further == 0 {
                return (files, self);
            }
            let start = args.len() - self.plugin_flags.len();
            files.extend(args.drain(start..start + further).map(PathBuf::from));
            if let super::Command::Explain(again) = super::Cli::parse_from(&args).command {
                self = again;
            }
        }
    }

    fn explain(self, files: &[PathBuf], out: &mut dyn Write) -> Result {
        let flags = match Flags::parse(self.plugin_flags, |name| std::env::var_os(name))? {
            Invocation::Run(flags) => flags,
            Invocation::Print(text) => {
                write!(out, "{text}")?;
                return Ok(Verdict::Same);
            }
        };
        let config = Config::resolve(*flags)?;
        let staged = nri_plugin::host::Host::new();
        let host = self
            .simulate
            .host(plugin::cdi_dir(&config).map(|dir| vec![dir]));
        let mut verdicts = Vec::new();
        for (file, read) in self.simulate.read_all(files)? {
            let Requests {
                profile,
                requests,
                unknown,
                notes,
                ..
            } = read;
            show::notes(&file, &notes);
            for (request, unknown) in requests.iter().zip(unknown) {
                let explanation = explain(&config, request, &staged, profile, &host)?;
                let name = name_of(request);
                // What a claim brings can only make a difference where nothing else counts.
                let nothing = Outcome::Unmodified(Reason::NothingSelected);
                let unknown = unknown.filter(|_| explanation.decision.outcome == nothing);
                let verdict = match &unknown {
                    Some(unknown) => format!("is unknown: {unknown}"),
                    None => verdict(&config, request, &explanation),
                };
                match self.output {
                    _ if self.brief => {}
                    Output::Text => text(out, &name, &explanation)?,
                    Output::Json => writeln!(out, "{}", json(&name, &explanation, &verdict))?,
                }
                verdicts.push((name, verdict));
            }
        }
        if self.output == Output::Text {
            for (name, verdict) in verdicts {
                let (name, verdict) = (on_one_line(&name), on_one_line(&verdict));
                writeln!(out, "{BOLD}{name}{BOLD:#} {verdict}")?;
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

fn json(name: &str, explanation: &Explanation, verdict: &str) -> serde_json::Value {
    let Explanation {
        rules,
        reason,
        decision,
        changes,
    } = explanation;
    let warnings: Vec<_> = decision.warnings.iter().map(ToString::to_string).collect();
    json!({
        "container": name,
        "verdict": verdict,
        "rules": rules,
        "decision": decision.outcome.name(),
        "reason": reason,
        "warnings": warnings,
        "changes": changes.as_ref().ok(),
        "refused": changes.as_ref().err().map(ToString::to_string),
    })
}
