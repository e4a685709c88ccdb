//! `fake-runtime replay`.

mod golden;
mod shown;
mod watch;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::create::name_of;
use crate::one_line::last_line;
use crate::product::Product;
use crate::replay::{Replay, Whom};
use crate::requests::Requests;
use crate::runtime::FakeRuntime;
use crate::scenario::Scenario;
use clap::error::ErrorKind;

use super::simulate::Simulate;
use super::{Output, Result, Verdict};
use golden::Goldens;
use shown::Shown;
use watch::Watch;

const EXAMPLES: &str = "\
Examples:
  fake-runtime replay pod.yaml --plugin ./my-plugin -- --my-flag
  fake-runtime replay requests.jsonl.gz --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime replay pod.yaml --gpus 2 --listen /tmp/nri.sock    # and start the plugin by hand
  fake-runtime replay pods/*.yaml --expect goldens --plugin ./my-plugin
  fake-runtime replay pods/*.yaml --expect goldens --update --plugin ./my-plugin
  fake-runtime replay scenario.yaml --watch --plugin ./my-plugin

A scenario file stages a tree, creates containers and lets things go wrong in between:
  kind: Scenario
  containerd: \"2.3\"
  tree: [{path: gpus, kind: file, content: two}]
  args: [\"--config={dir}/gpus\"]
  steps:
  - create: gpu-pod.yaml
    expect: {adjusted: true}
  - fault: {cut: within-frame}
  - create: gpu-pod.yaml
    expect: {adjusted: true}";

/// Create the containers of Pod manifests, recordings and requests, or play scenarios, and print what a plugin makes of
/// them.
///
/// For each container: what the plugin answered, and what that changed in the OCI spec. With --expect all of it is
/// compared with files of an earlier run.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("whom").required(true).args(["plugin", "listen"])))]
pub struct Args {
    /// Manifests of Pods and workloads, scenarios (YAML or JSON), recordings (JSON lines, plain or gzipped),
    /// CreateContainer requests (JSON, YAML, or a log of NRI's logger plugin); directories of such; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The plugin binary; each file is replayed to a process of its own
    #[arg(long, value_name = "PATH")]
    plugin: Option<PathBuf>,
    /// Wait on this socket for a plugin that somebody else starts
    #[arg(long, value_name = "SOCKET")]
    listen: Option<PathBuf>,
    /// Compare with the files of this directory, and print what differs
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Write these files anew instead
    #[arg(long, requires = "expect")]
    update: bool,
    /// Do it again whenever the plugin binary or one of the files changes
    #[arg(long)]
    watch: bool,
    /// text for people, json for one object a line
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    #[command(flatten)]
    simulate: Simulate,
    /// The plugin's arguments; {socket} in them is the path of the NRI socket, and where none has it,
    /// --socket-path=PATH is appended
    #[arg(last = true, value_name = "ARGS", requires = "plugin")]
    args: Vec<OsString>,
}

/// What is in a file.
enum Play {
    Scenario(Box<Scenario>),
    Requests(Requests),
}

impl Args {
    /// Replays to the plugin, with what is known of it.
    ///
    /// # Errors
    ///
    /// A file cannot be read or played, or the output not written.
    pub fn run(self, out: &mut dyn Write, product: &Product) -> Result {
        let mut names = HashSet::new();
        if self.expect.is_some() && !self.files.iter().all(|file| names.insert(file.file_name())) {
            let message = "with --expect no two files may have the same name";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, message).into());
        }
        super::block_on(async {
            if self.watch {
                self.watch(out, product).await
            } else {
                self.replay_all(out, product).await
            }
        })
    }

    /// Replays each file, and says whether all is as it should be.
    async fn replay_all(&self, out: &mut dyn Write, product: &Product) -> Result {
        let mut goldens = self.expect.as_deref().map(Goldens::new);
        let mut as_expected = true;
        for (file, play) in self.to_play()? {
            let shown = self.replay(&file, play, product).await?;
            as_expected &= shown.as_expected();
            match self.output {
                _ if goldens.is_some() => {}
                Output::Text => shown.print(out)?,
                Output::Json => shown.print_json(out)?,
            }
            match &mut goldens {
                Some(goldens) if self.update => goldens.update(&file, &shown)?,
                Some(goldens) => goldens.compare(out, &file, &shown)?,
                None => {}
            }
        }
        let verdict = match goldens {
            Some(goldens) => goldens.finish(out, self.update)?,
            None => Verdict::Same,
        };
        Ok(if as_expected {
            verdict
        } else {
            Verdict::Different
        })
    }

    /// What is in the files, in order: scenarios, and what else there are requests in.
    fn to_play(&self) -> Result<Vec<(PathBuf, Play)>> {
        let mut all = Vec::new();
        let mut others = Vec::new();
        for file in &self.files {
            match Scenario::read(file)? {
                Some(scenario) => all.push((file.clone(), Play::Scenario(Box::new(scenario)))),
                None => others.push(file.clone()),
            }
        }
        if !others.is_empty() {
            let read = self.simulate.read_all(&others)?.into_iter();
            all.extend(read.map(|(file, requests)| (file, Play::Requests(requests))));
        }
        let place = |file: &Path| self.files.iter().position(|it| file.starts_with(it));
        all.sort_by_key(|(file, _)| place(file));
        Ok(all)
    }

    /// Creates the containers of one file, or plays the scenario that it is.
    async fn replay(&self, file: &Path, play: Play, product: &Product) -> Result<Shown> {
        let whom = self.whom();
        let Requests {
            profile,
            requests,
            unknown,
            notes,
        } = match play {
            Play::Requests(requests) => requests,
            Play::Scenario(scenario) => {
                let simulation = self.simulate.simulation()?;
                let waiting = || self.say_who_is_waited_for();
                let (played, plain) = scenario.play(&whom, product, &simulation, waiting).await?;
                return Ok(Shown::scenario(played, plain));
            }
        };
        super::show::notes(file, &notes);
        for (request, unknown) in requests.iter().zip(unknown) {
            let note = unknown.map(|unknown| format!("{}: {unknown}", name_of(request)));
            super::show::notes(file, note.as_slice());
        }
        let host = self
            .simulate
            .host(product.cdi_dirs.map(|of| of(&self.args)));
        super::show::notes(file, host.cdi.problems());
        let builder = FakeRuntime::builder().profile(profile).host(host);
        let mut replay = Replay::start(builder, &whom, product).await?;
        self.say_who_is_waited_for();
        replay.registered().await?;
        let mut containers = Vec::new();
        for request in requests {
            containers.push(replay.create(request).await);
        }
        Ok(Shown::containers(containers))
    }

    fn whom(&self) -> Whom {
        match (&self.plugin, &self.listen) {
            (Some(plugin), _) => Whom::Start {
                path: plugin.clone(),
                args: self.args.clone(),
            },
            (None, Some(socket)) => Whom::Listen(socket.clone()),
            (None, None) => unreachable!("the command line has one or the other"),
        }
    }

    /// On stderr, beside the output, which scripts read.
    fn say_who_is_waited_for(&self) {
        if let Some(socket) = &self.listen {
            // With stderr closed nobody has to know.
            let _ = writeln!(
                anstream::stderr(),
                "waiting for a plugin on {}",
                socket.display()
            );
        }
    }

    /// Replays, and again whenever the plugin or one of the files is another.
    async fn watch(&self, out: &mut dyn Write, product: &Product) -> Result {
        let mut watch = Watch::new(self.watched());
        loop {
            // What is wrong now may be mended by the next change.
            if let Err(error) = self.replay_all(out, product).await {
                writeln!(anstream::stderr(), "error: {}", last_line(&*error))?;
            }
            writeln!(anstream::stderr(), "waiting for a change")?;
            out.flush()?;
            watch.changed().await;
        }
    }

    fn watched(&self) -> Vec<PathBuf> {
        let of_scenario = |file: &PathBuf| {
            let scenario = Scenario::read(file).ok().flatten();
            scenario.map_or_else(Vec::new, |scenario| scenario.files().collect())
        };
        let named = self.files.iter().flat_map(of_scenario);
        self.files
            .iter()
            .chain(&self.plugin)
            .cloned()
            .chain(named)
            .collect()
    }
}
