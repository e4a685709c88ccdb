//! `fake-runtime record`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::api::{ConfigureRequest, plugin};
use crate::profile::Profile;
use crate::recording::{Redactor, Row};
use crate::scripted::ScriptedPlugin;
use tokio::sync::mpsc;

use super::{Result, Verdict};

const EXAMPLES: &str = "\
Examples:
  fake-runtime record -o requests.jsonl
  fake-runtime record --socket /run/nri/nri.sock -o - | jq .container
  fake-runtime record --count 3 --raw -o requests.jsonl
  fake-runtime replay requests.jsonl --plugin ./my-plugin";

/// Connect to a real runtime as a plugin that changes nothing, and write down what it asks.
///
/// Records every call that the runtime makes but ValidateContainerAdjustment, until it is interrupted, the runtime goes
/// away, or --count is reached. (Of a validator that goes away, runtimes refuse the next container.) Names, uids, paths of the host and the values of variables, labels and annotations are replaced, the
/// same by the same; --raw writes everything as it came. Runtimes want two digits as an index: with 00 it sees
/// containers before other plugins adjust them.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// The runtime's NRI socket
    #[arg(long, value_name = "PATH", default_value = "/var/run/nri/nri.sock")]
    socket: PathBuf,
    /// Where to write, - for stdout
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Redact nothing
    #[arg(long)]
    raw: bool,
    /// Stop after so many containers
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// The name to register with
    #[arg(long, default_value = "recorder")]
    name: String,
    /// The index to register with
    #[arg(long, default_value = "00")]
    index: String,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let mut file;
        let out = if self.output == Path::new("-") {
            out
        } else {
            let name = self.output.display();
            file = File::create(&self.output)
                .map_err(|error| format!("cannot write {name}: {error}"))?;
            &mut file
        };
        super::block_on(self.record(out))
    }

    async fn record(&self, out: &mut dyn Write) -> Result {
        let (sender, mut requests) = mpsc::unbounded_channel();
        let recorder = ScriptedPlugin::new(&self.index, &self.name)
            .subscribe(every_event)
            .others(|_, _| Some(Vec::new()))
            .observe(move |method, payload| {
                // Fails only once recording has ended.
                let _ = sender.send((method.to_owned(), payload.to_vec()));
            });
        let connection = recorder
            .connect(&self.socket)
            .await
            .map_err(|error| format!("cannot record from {}: {error}", self.socket.display()))?;
        let mut redactor = (!self.raw).then(Redactor::default);
        let mut containers = 0;
        while let Some((method, payload)) = requests.recv().await {
            let Some(row) = Row::of(&method, &payload, redactor.as_mut())? else {
                continue;
            };
            writeln!(out, "{}", serde_json::to_string(&row)?)?;
            // Whoever interrupts this keeps what was recorded until then.
            out.flush()?;
            containers += usize::from(row.rpc == plugin::CREATE_CONTAINER);
            if self.count.is_some_and(|count| containers >= count) {
                connection.leave().await;
                return Ok(Verdict::Same);
            }
        }
        Err("the runtime closed the connection".into())
    }
}

/// Every event but the validation that the runtime has. One that is not known may be older than it should be.
fn every_event(configure: &ConfigureRequest) -> i32 {
    const VALIDATE_CONTAINER_ADJUSTMENT: i32 = 1 << 13;
    let oldest = Profile::find("1.7").map_or(0, |profile| profile.events);
    let known = Profile::of(&configure.runtime_name, &configure.runtime_version);
    let known = known.map_or(oldest, |profile| profile.events);
    known & !VALIDATE_CONTAINER_ADJUSTMENT
}
