//! `fake-runtime replay`.

mod golden;
mod shown;
mod watch;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::create::name_of;
use crate::life::Step;
use crate::one_line::last_line;
use crate::product::Product;
use crate::replay::{Played, Replay};
use crate::requests::Requests;
use crate::runtime::FakeRuntime;
use crate::scenario::Scenario;
use clap::error::ErrorKind;

use super::junit;
use super::plugins::Plugins;
use super::simulate::Simulate;
use super::{Report, Result, Verdict};
use golden::Goldens;
use shown::Shown;
use watch::Watch;

const EXAMPLES: &str = "\
Examples:
  fake-runtime replay pod.yaml --plugin ./my-plugin -- --my-flag
  fake-runtime replay requests.jsonl.gz --plugin ./my-plugin -- -nri-socket {socket}
  fake-runtime replay pod.yaml --gpus 2 --listen /tmp/nri.sock    # and start the plugin by hand
  fake-runtime replay pod.yaml --plugin './a -idx 10' --plugin './b -idx 20' -- -nri-socket {socket}
  fake-runtime replay pod.yaml --plugin ./10-my-plugin --config my-plugin.conf --env DEBUG=1
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
pub struct Args {
    /// Manifests of Pods and workloads, scenarios (YAML or JSON), recordings (JSON lines, plain or gzipped),
    /// CreateContainer requests (JSON, YAML, or a log of NRI's logger plugin); directories of such; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Compare with the files of this directory, and print what differs
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Write these files anew instead
    #[arg(long, requires = "expect")]
    update: bool,
    /// Do it again whenever the plugin binary or one of the files changes
    #[arg(long)]
    watch: bool,
    /// text for people, json for one object a line, junit for CI
    #[arg(long, value_enum, default_value_t)]
    output: Report,
    #[command(flatten)]
    simulate: Simulate,
    #[command(flatten)]
    plugins: Plugins,
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
        let mut cases = Vec::new();
        for (file, play) in self.to_play()? {
            let shown = self.replay(out, &file, play, product).await?;
            as_expected &= shown.as_expected(goldens.is_some());
            cases.extend(shown.cases(&file.display().to_string()));
            match self.output {
                _ if goldens.is_some() => {}
                Report::Text => shown.print(out)?,
                Report::Json => shown.print_json(out)?,
                Report::Junit => {}
            }
            match &mut goldens {
                Some(goldens) if self.update => goldens.update(&file, &shown)?,
                Some(goldens) => goldens.compare(out, &file, &shown)?,
                None => {}
            }
        }
        if self.output == Report::Junit {
            write!(out, "{}", junit::document("fake-runtime replay", &cases))?;
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
    async fn replay(
        &self,
        out: &mut dyn Write,
        file: &Path,
        play: Play,
        product: &Product,
    ) -> Result<Shown> {
        let source = self.plugins.source()?;
        let requests = match play {
            Play::Requests(requests) => requests,
            Play::Scenario(scenario) => {
                let simulation = self.simulate.simulation()?;
                // Where it cannot be written, nothing can.
                let waiting = || drop(self.plugins.say_who_is_waited_for(out, self.output));
                let (played, plain) = scenario
                    .play(&source, product, &simulation, waiting)
                    .await?;
                return Ok(Shown::scenario(played, plain));
            }
        };
        super::show::notes(file, &requests.notes);
        for (request, unknown) in requests.requests.iter().zip(&requests.unknown) {
            let note = unknown
                .as_ref()
                .map(|unknown| format!("{}: {unknown}", name_of(request)));
            super::show::notes(file, note.as_slice());
        }
        let host = self
            .simulate
            .host(product.cdi_dirs.map(|of| of(self.plugins.args())));
        super::show::notes(file, host.cdi.problems());
        let profile = requests.profile;
        let builder = FakeRuntime::builder().profile(profile).host(host);
        let mut replay = Replay::start(builder, &source, product).await?;
        self.plugins.say_who_is_waited_for(out, self.output)?;
        replay.registered().await?;
        let mut played = Vec::new();
        for step in requests.steps() {
            played.push(match step {
                Step::Create(request) => Played::Container {
                    container: Box::new(replay.create(*request).await),
                    unmet: Vec::new(),
                },
                step => replay.turn(step).await?,
            });
        }
        Ok(Shown::played(played, profile, replay.finish().await))
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
            .cloned()
            .chain(self.plugins.files())
            .chain(named)
            .collect()
    }
}
