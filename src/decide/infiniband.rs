//! The mock InfiniBand tools. They need no device: what they read lies in the overlay.

use super::staged::Staged;
use super::warning::Warning;
use crate::config::Config;

/// What to warn of when the tools will find no HCA.
pub(super) fn no_hca(config: &Config, staged: &impl Staged) -> Option<Warning> {
    let class = config.overlay_host_path.join("ib/sys/class/infiniband");
    let cause = match staged.entries(&class) {
        Ok(adapters) if !adapters.is_empty() => return None,
        Ok(_) => "it is empty".to_owned(),
        Err(error) => error.to_string(),
    };
    Some(Warning::NoInfinibandDevices {
        path: class.to_string(),
        cause,
    })
}
