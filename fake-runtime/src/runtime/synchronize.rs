//! Telling a plugin what is there already, in parts where one message cannot hold it.

use std::time::Duration;

use nri_proto::api::{ContainerUpdate, SynchronizeRequest, SynchronizeResponse};
use nri_proto::wire::{Caller, MAX_BODY};
use tokio::time::Instant;

use super::calls::{self, Failure};
use super::hub::Hub;

/// containerd gives up on parts smaller than this many pods and containers together.
const MIN_PER_PART: usize = 8;

/// How many pods and containers go into one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PerPart {
    pods: usize,
    containers: usize,
}

/// Sends the inventory. Starts with one message, and makes the parts smaller whenever one is too large. All parts
/// share the time of one request. Returns how many there were, and what the plugin asks to be changed.
pub(super) async fn synchronize(
    hub: &Hub,
    caller: &Caller,
) -> Result<(usize, Vec<ContainerUpdate>), String> {
    let deadline = Instant::now() + hub.timeouts.request;
    let listed = hub.listed();
    let (mut pods, mut containers) = (&listed.pods[..], &listed.containers[..]);
    let mut per_part = PerPart {
        pods: pods.len(),
        containers: containers.len(),
    };
    let mut parts = 0;
    loop {
        let (pods_now, pods_later) = pods.split_at(per_part.pods);
        let (containers_now, containers_later) = containers.split_at(per_part.containers);
        let more = !pods_later.is_empty() || !containers_later.is_empty();
        let request = SynchronizeRequest {
            pods: pods_now.to_vec(),
            containers: containers_now.to_vec(),
            more,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        match send(caller, left, &request).await {
            Ok(answer) => {
                parts += 1;
                if !more {
                    return Ok((parts, answer.update));
                }
                if !answer.more || !answer.update.is_empty() {
                    return Err("plugin does not handle split sync requests".to_owned());
                }
                (pods, containers) = (pods_later, containers_later);
                per_part.pods = per_part.pods.min(pods.len());
                per_part.containers = per_part.containers.min(containers.len());
            }
            Err(Failure::TooLarge(length)) if hub.profile.splits_synchronize => {
                per_part = per_part.shrink(length)?;
            }
            Err(failure) => return Err(format!("failed to synchronize plugin: {failure}")),
        }
    }
}

async fn send(
    caller: &Caller,
    within: Duration,
    request: &SynchronizeRequest,
) -> Result<SynchronizeResponse, Failure> {
    calls::call(caller, within, "Synchronize", request).await
}

impl PerPart {
    /// Smaller parts, in proportion to how much too long a message of `length` bytes was, and by a tenth at least.
    fn shrink(self, length: usize) -> Result<Self, String> {
        if self.pods + self.containers <= MIN_PER_PART {
            return Err("failed to synchronize plugin with split messages".to_owned());
        }
        let shrink = |count: usize| (count * MAX_BODY / length).min(count * 9 / 10);
        let smaller = Self {
            pods: shrink(self.pods),
            containers: shrink(self.containers),
        };
        let smaller = if smaller.pods + smaller.containers < MIN_PER_PART {
            Self {
                pods: MIN_PER_PART / 2,
                containers: MIN_PER_PART / 2,
            }
        } else {
            smaller
        };
        // Something of each kind that is left: a part without any would be followed by another such, for ever.
        Ok(Self {
            pods: smaller.pods.clamp(self.pods.min(1), self.pods),
            containers: smaller
                .containers
                .clamp(self.containers.min(1), self.containers),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_shrink_in_proportion_and_by_a_tenth_at_least() {
        let all = PerPart {
            pods: 100,
            containers: 1000,
        };
        assert_eq!(
            all.shrink(2 * MAX_BODY),
            Ok(PerPart {
                pods: 50,
                containers: 500
            })
        );
        assert_eq!(
            all.shrink(MAX_BODY + 1),
            Ok(PerPart {
                pods: 90,
                containers: 900
            })
        );
    }

    #[test]
    fn a_part_holds_something_of_each_kind_that_is_left() {
        let few = PerPart {
            pods: 1,
            containers: 1000,
        };
        assert_eq!(
            few.shrink(100 * MAX_BODY),
            Ok(PerPart {
                pods: 1,
                containers: 10
            })
        );
        let none = PerPart {
            pods: 0,
            containers: 20,
        };
        assert_eq!(
            none.shrink(100 * MAX_BODY),
            Ok(PerPart {
                pods: 0,
                containers: 4
            })
        );
    }

    #[test]
    fn eight_objects_that_do_not_fit_are_given_up() {
        assert!(
            PerPart {
                pods: 4,
                containers: 4
            }
            .shrink(2 * MAX_BODY)
            .is_err()
        );
    }
}
