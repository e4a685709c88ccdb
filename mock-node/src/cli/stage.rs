//! `mock-node stage`.

use std::io::Write;
use std::path::PathBuf;

use mock_node::staging::{Devices, Overlay, has_real_driver};
use nri_plugin::host::Host;

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
    /// Where to make it; a tree that is there already is completed, and what it has besides stays
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
    /// Make device nodes even where a real NVIDIA driver has their numbers: they open its GPUs
    #[arg(long, conflicts_with = "links")]
    beside_real_driver: bool,
}

impl Args {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        self.stage(out, &Host::new())
    }

    fn stage(self, out: &mut dyn Write, host: &Host) -> Result {
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
        } else if self.beside_real_driver {
            Devices::Nodes
        } else if has_real_driver(host) {
            return Err(
                "this host has a real NVIDIA driver, whose GPUs the device nodes would open: \
                give --links, or --beside-real-driver to make them all the same"
                    .into(),
            );
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn args(dir: &Path, links: bool) -> Args {
        Args {
            dir: dir.to_owned(),
            gpus: 1,
            imex_channels: 0,
            hcas: 0,
            nodes: Vec::new(),
            no_topology: true,
            no_cdi: true,
            no_control_nodes: true,
            links,
            beside_real_driver: false,
        }
    }

    #[test]
    fn beside_a_real_driver_nothing_but_links_is_staged_unasked() {
        let dir = tempfile::tempdir().unwrap();
        let (drivers, overlay) = (dir.path().join("devices"), dir.path().join("overlay"));
        std::fs::write(&drivers, "Character devices:\n195 nvidia\n").unwrap();
        let host = Host::with_proc_devices(drivers);

        let refused = args(&overlay, false).stage(&mut Vec::new(), &host);
        let error = refused.unwrap_err().to_string();
        assert!(
            error.starts_with("this host has a real NVIDIA driver"),
            "{error}"
        );
        assert!(!overlay.exists());

        args(&overlay, true).stage(&mut Vec::new(), &host).unwrap();
        let gpu = std::fs::read_link(overlay.join("driver/dev/nvidia0")).unwrap();
        assert_eq!(gpu, Path::new("/dev/null"));
    }
}
