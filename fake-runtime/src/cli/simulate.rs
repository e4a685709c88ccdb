//! Options for what files of requests leave open.

use std::path::Path;

use super::asking::Asking;
use crate::pod::{Allocation, Simulation};
use crate::requests::{self, Requests, RequestsError};

/// Options of every command that takes Pod manifests, recordings and requests.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "What a file leaves open")]
pub struct Simulate {
    #[command(flatten)]
    asking: Asking,
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
    /// What files leave open, as it was typed.
    pub fn simulation(&self) -> Simulation {
        Simulation {
            profile: self.asking.profile().unwrap_or_default(),
            image_env: self.image_env.clone(),
            allocation: Allocation {
                gpus: self.gpus,
                cdi: self.cdi.clone(),
            },
            ..Simulation::default()
        }
    }

    /// The requests of a file, and the runtime that makes them.
    pub fn read(&self, file: &Path) -> Result<Requests, RequestsError> {
        let read = requests::read(file, &self.simulation())?;
        Ok(Requests {
            profile: self.asking.profile().unwrap_or(read.profile),
            ..read
        })
    }
}
