//! Options for what files of requests leave open.

use std::fs;
use std::path::{Path, PathBuf};

use super::Result;
use super::asking::Asking;
use crate::host::Host;
use crate::pod::image::Image;
use crate::pod::kubelet::Source;
use crate::pod::manifest::Manifest;
use crate::pod::{Allocation, Node, Simulation};
use crate::requests::{self, Requests};

/// Options of every command that takes Pod manifests, recordings and requests.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Defaults for the request")]
pub struct Simulate {
    #[command(flatten)]
    asking: Asking,
    /// How many GPUs the device plugin gives each container [default: as its limits say]
    #[arg(long, value_name = "N")]
    gpus: Option<u32>,
    /// A CDI device that each container is given, by its name; may be given more than once
    #[arg(long, value_name = "NAME")]
    cdi: Vec<String>,
    /// A directory of the node's CDI specs, which it has for the Pods' devices and for the plugin's; may be given more
    /// than once [default: for the plugin's /etc/cdi and /var/run/cdi]
    #[arg(long, value_name = "DIR")]
    cdi_dir: Vec<PathBuf>,
    /// An image's OCI configuration (JSON), for its variables, ENTRYPOINT, CMD, labels and VOLUMEs; may be given more
    /// than once. Those that lie beside a manifest are found there: images/localhost_busybox_e2e.json for
    /// localhost/busybox:e2e
    #[arg(long, value_name = "NAME=CONFIG.json", value_parser = image)]
    image: Vec<(String, Image)>,
    /// A variable that other images set; may be given more than once
    #[arg(
        long = "image-env",
        value_name = "KEY=VALUE",
        default_value = "PATH=/usr/bin:/bin"
    )]
    image_env: Vec<String>,
    /// ConfigMaps, Secrets, Services, volumes, claims and classes of the cluster (YAML or JSON); may be given more than
    /// once
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// The node (YAML or JSON): what `kubectl get node NAME -o yaml` prints, or name, capacity, devices,
    /// kubeletConfig.cgroupDriver and the like by themselves
    #[arg(long, value_name = "FILE")]
    node: Option<PathBuf>,
    /// Take Pods for manifests in the kubelet's own directory
    #[arg(long)]
    static_pod: bool,
    /// Put variables and GPUs in an order of which nobody can be sure, as a kubelet does, after this number
    #[arg(long, value_name = "SEED")]
    shuffle_env: Option<u64>,
}

fn image(text: &str) -> std::result::Result<(String, Image), String> {
    let (name, path) = text.split_once('=').ok_or("it takes NAME=CONFIG.json")?;
    let text = fs::read_to_string(path).map_err(|error| format!("cannot read it: {error}"))?;
    let image = Image::parse(&text).map_err(|error| format!("no image configuration: {error}"))?;
    Ok((name.to_owned(), image))
}

impl Simulate {
    /// What files leave open, as it was typed.
    ///
    /// # Errors
    ///
    /// A file that is named cannot be read, or is something else.
    pub fn simulation(&self) -> Result<Simulation> {
        let mut simulation = Simulation {
            profile: self.asking.profile().unwrap_or_default(),
            image_env: self.image_env.clone(),
            allocation: Allocation {
                gpus: self.gpus,
                cdi: self.cdi.clone(),
                ..Allocation::default()
            },
            source: if self.static_pod {
                Source::File
            } else {
                Source::Api
            },
            shuffle: self.shuffle_env,
            ..Simulation::default()
        };
        if let Some(path) = &self.node {
            let node = Node::parse(&text(path)?, simulation.node);
            simulation.node = node.map_err(|error| format!("{} {error}", path.display()))?;
        }
        for path in &self.with {
            let manifest = Manifest::parse(&text(path)?);
            let manifest = manifest.map_err(|error| format!("{}: {error}", path.display()))?;
            simulation.cluster.extend(manifest.cluster);
        }
        for (name, image) in &self.image {
            simulation.node.images.insert(name, image.clone());
        }
        if !self.cdi_dir.is_empty() {
            simulation.node.cdi = Some(Host::with_cdi_dirs(&self.cdi_dir));
        }
        Ok(simulation)
    }

    /// What the node has for a plugin that names CDI devices: the specs of the directories that were typed, otherwise of
    /// those where containerd looks and of `further` ones.
    pub fn host(&self, further: Option<Vec<PathBuf>>) -> Host {
        if !self.cdi_dir.is_empty() {
            return Host::with_cdi_dirs(&self.cdi_dir);
        }
        Host::with_cdi_dirs_besides(further.unwrap_or_default())
    }

    /// The requests of a file, and the runtime that makes them.
    ///
    /// # Errors
    ///
    /// There are none in it.
    pub fn read(&self, file: &Path) -> Result<Requests> {
        let read = requests::read(file, &self.simulation()?)?;
        Ok(self.made_by(read))
    }

    /// The requests of several files: see [`requests::read_all`].
    ///
    /// # Errors
    ///
    /// There are none in any of them.
    pub fn read_all(&self, files: &[PathBuf]) -> Result<Vec<(PathBuf, Requests)>> {
        let read = requests::read_all(files, &self.simulation()?)?;
        let made_by = |(path, requests)| (path, self.made_by(requests));
        Ok(read.into_iter().map(made_by).collect())
    }

    fn made_by(&self, read: Requests) -> Requests {
        Requests {
            profile: self.asking.profile().unwrap_or(read.profile),
            ..read
        }
    }
}

fn text(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path);
    Ok(text.map_err(|error| format!("cannot read {}: {error}", path.display()))?)
}
