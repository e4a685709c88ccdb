//! Options for what a Pod manifest leaves open.

use fake_runtime::pod::{Allocation, Simulation};
use fake_runtime::profile::{Profile, UnknownVersion};

/// Options of every command that takes Pod manifests.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What a manifest leaves open")]
pub(super) struct Simulate {
    /// The containerd that asks, by a profile's name or a release: 1.7, 2.1.9, HEAD
    #[arg(long, value_name = "VERSION", default_value = "2.1", value_parser = profile)]
    profile: &'static Profile,
    /// How many GPUs the device plugin gives each container [default: as its limit nvidia.com/gpu says]
    #[arg(long, value_name = "N")]
    gpus: Option<u32>,
    /// A CDI device that each container is given, by its name; may be given more than once
    #[arg(long, value_name = "NAME")]
    cdi: Vec<String>,
    /// A variable that the containers' images set; may be given more than once
    #[arg(
        long = "image-env",
        value_name = "KEY=VALUE",
        default_value = "PATH=/usr/bin:/bin"
    )]
    image_env: Vec<String>,
}

impl Simulate {
    pub(super) fn profile(&self) -> &'static Profile {
        self.profile
    }

    pub(super) fn simulation(&self) -> Simulation {
        Simulation {
            profile: self.profile,
            image_env: self.image_env.clone(),
            allocation: Allocation {
                gpus: self.gpus,
                cdi: self.cdi.clone(),
            },
            ..Simulation::default()
        }
    }
}

fn profile(version: &str) -> Result<&'static Profile, UnknownVersion> {
    Profile::find(version)
}
