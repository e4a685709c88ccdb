//! Which calls a runtime makes in a pod's life.

use nri_proto::api::Event;

/// The calls that a runtime makes, in their order, at each turn of a pod's life. Those of [`Profile::events`] are made
/// that the version knows, to the plugins that subscribed.
///
/// [`Profile::events`]: super::Profile::events
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// A pod is made.
    pub pod_run: &'static [Event],
    /// The pod's resources are changed.
    pub pod_updated: &'static [Event],
    /// A container is made.
    pub created: &'static [Event],
    /// A container is not made after all, because it was refused later than by a plugin.
    pub creation_failed: &'static [Event],
    /// A container is started.
    pub started: &'static [Event],
    /// A container's resources are changed.
    pub updated: &'static [Event],
    /// A container exits by itself.
    pub exited: &'static [Event],
    /// A container is stopped.
    pub stopped: &'static [Event],
    /// A container is removed.
    pub removed: &'static [Event],
    /// A pod is stopped.
    pub pod_stopped: &'static [Event],
    /// A pod is removed.
    pub pod_removed: &'static [Event],
    /// A pod is removed while a container of it runs.
    pub pod_removed_running: &'static [Event],
}

impl Life {
    /// CRI-O's, measured on 1.37.0.
    pub(super) const CRI_O: Self = Self {
        pod_run: &[Event::RunPodSandbox],
        pod_updated: &[Event::UpdatePodSandbox],
        created: &[
            Event::CreateContainer,
            Event::ValidateContainerAdjustment,
            Event::PostCreateContainer,
        ],
        creation_failed: &[],
        started: &[Event::StartContainer, Event::PostStartContainer],
        updated: &[Event::UpdateContainer, Event::PostUpdateContainer],
        exited: &[Event::StopContainer],
        stopped: &[Event::StopContainer],
        removed: &[Event::RemoveContainer],
        pod_stopped: &[Event::StopPodSandbox],
        pod_removed: &[Event::RemovePodSandbox],
        pod_removed_running: &[
            Event::StopPodSandbox,
            Event::RemoveContainer,
            Event::RemovePodSandbox,
        ],
    };

    /// containerd's, from its sources.
    pub(super) const CONTAINERD: Self = Self {
        pod_updated: &[Event::UpdatePodSandbox, Event::PostUpdatePodSandbox],
        creation_failed: &[Event::StopContainer, Event::RemoveContainer],
        pod_removed_running: &[
            Event::StopContainer,
            Event::StopPodSandbox,
            Event::RemoveContainer,
            Event::RemovePodSandbox,
        ],
        ..Self::CRI_O
    };
}
