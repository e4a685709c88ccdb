//! Options for which runtime asks.

use crate::profile::{Profile, UnknownVersion};

/// Options of every command that plays a runtime.
#[derive(Debug, clap::Args)]
pub(super) struct Asking {
    /// The runtime that asks, with its version: containerd-2.3, cri-o-1.37
    #[arg(long, value_name = "RUNTIME", value_parser = Profile::find)]
    runtime: Option<&'static Profile>,
    /// The containerd that asks: a version, or HEAD
    #[arg(long, value_name = "VERSION", value_parser = containerd, conflicts_with = "runtime")]
    containerd: Option<&'static Profile>,
}

impl Asking {
    /// The one that was chosen.
    pub(super) fn profile(&self) -> Option<&'static Profile> {
        self.runtime.or(self.containerd)
    }
}

fn containerd(version: &str) -> Result<&'static Profile, UnknownVersion> {
    Profile::of("containerd", version)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Asking;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        asking: Asking,
    }

    fn chosen(args: &[&str]) -> Result<String, String> {
        let args = ["tool"].iter().chain(args);
        let cli = Cli::try_parse_from(args).map_err(|error| error.to_string())?;
        Ok(cli.asking.profile().unwrap().to_string())
    }

    #[test]
    fn a_runtime_is_chosen_by_its_name_and_containerd_by_its_version() {
        for (args, profile) in [
            (["--runtime", "cri-o-1.37"], "cri-o-1.37"),
            (["--runtime", "containerd-2.3"], "containerd-2.3"),
            (["--containerd", "2.3"], "containerd-2.3"),
        ] {
            assert_eq!(chosen(&args), Ok(profile.to_owned()));
        }
    }

    #[test]
    fn a_containerd_is_no_cri_o_and_only_one_of_them_asks() {
        assert!(chosen(&["--containerd", "1.37"]).is_err());
        assert!(chosen(&["--containerd", "2.3", "--runtime", "cri-o-1.37"]).is_err());
    }
}
