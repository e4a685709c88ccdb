//! `mock-node stage`.

use std::io::Write;
use std::path::PathBuf;

use mock_node::staging::{Devices, Overlay};

use fake_runtime::cli::{Result, Verdict};

const EXAMPLES: &str = "\
Examples:
  mock-node stage /tmp/overlay
  mock-node stage /tmp/overlay --gpus 8 --imex-channels 0 --hcas 0
  mock-node stage /tmp/overlay --links     # as a laptop without root would";

/// Make a mock overlay tree: what the node agent stages for the plugin to hand out.
///
/// Device nodes carry NVIDIA's numbers where this process may make them; otherwise they are links to /dev/null,
/// which the plugin takes for character devices all the same.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Where to make it; the directory must not hold a tree yet
    dir: PathBuf,
    /// How many GPUs
    #[arg(long, default_value_t = 4)]
    gpus: u32,
    /// How many IMEX channels
    #[arg(long, default_value_t = 2)]
    imex_channels: u32,
    /// How many InfiniBand HCAs
    #[arg(long, default_value_t = 2)]
    hcas: u32,
    /// A node that the topology document lists; may be given more than once
    #[arg(long = "node", value_name = "NAME", default_value = "node-1")]
    nodes: Vec<String>,
    /// Stage no topology document
    #[arg(long)]
    no_topology: bool,
    /// Write no CDI spec
    #[arg(long)]
    no_cdi: bool,
    /// Stage no nvidiactl, nvidia-modeset, nvidia-uvm and nvidia-uvm-tools
    #[arg(long)]
    no_control_nodes: bool,
    /// Stage links to /dev/null even where device nodes could be made
    #[arg(long)]
    links: bool,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        let overlay = Overlay {
            gpus: self.gpus,
            control_nodes: !self.no_control_nodes,
            imex_channels: self.imex_channels,
            hcas: self.hcas,
            topology: (!self.no_topology).then_some(self.nodes),
            cdi: !self.no_cdi,
        };
        let devices = if self.links {
            Devices::Links
        } else {
            Devices::as_permitted()
        };
        let cannot_make = |error| format!("cannot make {}: {error}", self.dir.display());
        std::fs::create_dir_all(&self.dir).map_err(cannot_make)?;
        // The plugin takes absolute paths only.
        let dir = self.dir.canonicalize().map_err(cannot_make)?;
        overlay.stage(&dir, devices)?;
        writeln!(
            out,
            "staged {} with {devices}; the plugin's flags for it:",
            dir.display()
        )?;
        for flag in Overlay::plugin_flags(&dir) {
            writeln!(out, "  {flag}")?;
        }
        Ok(Verdict::Same)
    }
}
