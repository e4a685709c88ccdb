//! The mock IMEX channels.

use std::collections::HashSet;

use super::adjustment::DeviceNode;
use super::devices::{self, Candidate, Found};
use super::request::Container;
use super::staged::Staged;
use super::warning::Warning;
use crate::config::Config;

/// Every staged channel.
pub(super) fn channels<'a>(
    config: &'a Config,
    staged: &impl Staged,
    warnings: &mut Vec<Warning>,
) -> Vec<Candidate<'a>> {
    let directory = &config.imex_channel_host_path;
    let destination = "/dev/nvidia-caps-imex-channels";
    devices::candidates(staged, directory, "channel", destination).unwrap_or_else(|cause| {
        warnings.push(Warning::NoImexChannels {
            path: directory.to_string(),
            cause,
        });
        Vec::new()
    })
}

/// Leaves out the channels that the container already has. A second copy of this plugin sees what the first
/// one added, and the runtime refuses a container that both claim.
pub(super) fn missing<'a>(mut channels: Vec<Found<'a>>, container: &Container) -> Vec<Found<'a>> {
    let present: HashSet<_> = container
        .devices
        .iter()
        .filter(|device| device.kind == DeviceNode::KIND)
        .map(|device| (device.path.as_str(), device.major, device.minor))
        .collect();
    channels.retain(|Found { node: channel, .. }| {
        let numbers = (i64::from(channel.major), i64::from(channel.minor));
        !present.contains(&(channel.path.as_str(), numbers.0, numbers.1))
    });
    channels
}
