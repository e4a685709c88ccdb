//! `fake-runtime record`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
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
    pub(super) fn run(self) -> Result {
        let file = if self.output == Path::new("-") {
            // Its own handle: what is written is written by whoever answers the runtime.
            File::from(io::stdout().as_fd().try_clone_to_owned()?)
        } else {
            let name = self.output.display();
            File::create(&self.output).map_err(|error| format!("cannot write {name}: {error}"))?
        };
        super::block_on(self.record(file))
    }

    async fn record(&self, file: File) -> Result {
        let (sender, mut ended) = mpsc::unbounded_channel();
        let mut recording = Recording {
            file,
            redactor: (!self.raw).then(Redactor::default),
            left: self.count,
        };
        let recorder = ScriptedPlugin::new(&self.index, &self.name)
            .subscribe(every_event)
            .others(|_, _| Some(Vec::new()))
            // Called before the answer: whoever has that, has the row, however soon this is stopped.
            .observe(move |method, payload| {
                if let Some(end) = recording.write(method, payload).transpose() {
                    // Fails only once recording has ended.
                    let _ = sender.send(end);
                }
            });
        let connection = recorder
            .connect(&self.socket)
            .await
            .map_err(|error| format!("cannot record from {}: {error}", self.socket.display()))?;
        match ended.recv().await {
            Some(end) => {
                end?;
                connection.leave().await;
                Ok(Verdict::Same)
            }
            None => Err("the runtime closed the connection".into()),
        }
    }
}

/// Where rows go.
struct Recording {
    file: File,
    redactor: Option<Redactor>,
    /// How many containers are still to be recorded, if not all.
    left: Option<usize>,
}

/// All that was asked for is recorded.
struct Done;

impl Recording {
    fn write(&mut self, method: &str, payload: &[u8]) -> Result<Option<Done>> {
        if self.left == Some(0) {
            return Ok(None);
        }
        let Some(row) = Row::of(method, payload, self.redactor.as_mut())? else {
            return Ok(None);
        };
        // In one write: a row is there, or it is not.
        let line = format!("{}\n", serde_json::to_string(&row)?);
        self.file.write_all(line.as_bytes())?;
        let Some(left) = &mut self.left else {
            return Ok(None);
        };
        *left -= usize::from(row.rpc == plugin::CREATE_CONTAINER);
        Ok((*left == 0).then_some(Done))
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
